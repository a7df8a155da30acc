"""The saver's operations as programs: generators that yield effects and return values. See `storage.effects`."""
