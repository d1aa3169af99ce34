"""Model providers that Sphynx itself calls, for people and judges: where they are and how they are asked."""
