import Synchronization

extension AtomicLazyReference {
    /// The instance, made by the first call. Of calls at the same time all return one instance, and drop the others.
    @inlinable
    package func loadOrMake(_ make: () -> Instance) -> Instance {
        if let known = load() { return known }
        let stored = storeIfNil(make())
        // A call that lost reads again, because the thread sanitizer does not see that storeIfNil acquires.
        return load() ?? stored
    }
}
