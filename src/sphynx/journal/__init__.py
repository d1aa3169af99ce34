"""What an agent did, as typed events and as stored entries. Pure: no process, no file, no clock."""
