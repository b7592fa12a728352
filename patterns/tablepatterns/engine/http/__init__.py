"""What the three services share over HTTP: messages, authorization, errors and XML."""
