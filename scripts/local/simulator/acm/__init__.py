"""ACM: certificates that are issued once their validation records are in DNS."""
