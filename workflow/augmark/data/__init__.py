"""From a dataset to items in memory: stage, audit, prepare. Nothing is imported here, so that the measured
process, which needs ``itemfile`` alone, never loads an image library."""
