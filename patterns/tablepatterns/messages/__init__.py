"""Messages that travel through queues: how they are received, leased, processed and moved to the poison queue."""
