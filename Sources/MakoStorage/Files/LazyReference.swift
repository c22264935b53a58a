import Synchronization

/// A reference to an instance that is made when it is first needed. It can be read by several threads at the same time.
///
/// `AtomicLazyReference` of the standard library is not specialised where it is used: a load costs some 640 instructions
/// there, 3 here.
@usableFromInline
package struct LazyReference<Instance: AnyObject & Sendable>: ~Copyable, Sendable {
    /// The address of the instance, which this owns; 0: none yet. It changes once.
    @usableFromInline let address = Atomic<UInt>(0)

    @inlinable
    package init() {}

    deinit {
        Self.instance(at: address.load(ordering: .acquiring))?.release()
    }

    /// The instance, if it has been made.
    @inlinable
    package func load() -> Instance? {
        Self.instance(at: address.load(ordering: .acquiring))?.takeUnretainedValue()
    }

    /// The instance, made by the first call. Of calls at the same time all return one instance, and drop the others.
    @inlinable
    package func loadOrMake(_ make: () -> Instance) -> Instance {
        if let known = load() { return known }
        let made = make()
        let owned = Unmanaged.passRetained(made)
        let (exchanged, known) = address.compareExchange(
            expected: 0, desired: UInt(bitPattern: owned.toOpaque()), ordering: .acquiringAndReleasing)
        guard !exchanged else { return made }
        owned.release()
        return Self.instance(at: known)?.takeUnretainedValue() ?? made
    }

    @inlinable
    static func instance(at address: UInt) -> Unmanaged<Instance>? {
        UnsafeRawPointer(bitPattern: address).map { Unmanaged.fromOpaque($0) }
    }
}
