"""Where trials run. One module or package per backend; ``registry`` finds them by name."""
