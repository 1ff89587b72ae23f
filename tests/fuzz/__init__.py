"""Pages through a build with AddressSanitizer and UndefinedBehaviorSanitizer: `make fuzz`."""
