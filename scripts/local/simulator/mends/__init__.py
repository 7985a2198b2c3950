"""Operations of moto's services that it lacks, or that read back less than was written."""
