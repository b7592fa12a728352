"""What the blob log is made of: entries, names of blobs, the buffer, blobs being written, and the way back."""
