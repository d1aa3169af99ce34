"""Wire shapes of the API and the records Sphynx keeps, as pydantic models."""
