"""What comes from the outside world: environment, env files, addresses, folders. Read only when asked."""
