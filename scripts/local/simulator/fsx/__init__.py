"""FSx for Lustre: file systems and their links to S3; the other kinds of FSx are not answered."""
