"""What a run needs of a machine and of its quotas: questions of the `augmark` command."""
