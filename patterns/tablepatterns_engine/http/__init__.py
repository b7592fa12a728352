"""What the three services share over HTTP: messages, addresses, authorization, SAS, errors, headers and XML."""
