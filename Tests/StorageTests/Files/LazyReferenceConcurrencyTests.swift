import MakoStorage
import Synchronization
import Testing

/// A reference that several threads make at the same time.
@Suite struct LazyReferenceConcurrencyTests {
    private static let alive = Atomic<Int>(0)

    private final class Made: Sendable {
        init() { LazyReferenceConcurrencyTests.alive.add(1, ordering: .sequentiallyConsistent) }
        deinit { LazyReferenceConcurrencyTests.alive.subtract(1, ordering: .sequentiallyConsistent) }
    }

    private final class Holder: Sendable {
        let reference = LazyReference<Made>()
    }

    @Test func allThreadsGetOneInstanceWhichEndsWithTheReference() async {
        for _ in 0..<200 {
            let holder = Holder()
            #expect(holder.reference.load() == nil)
            let seen = await withTaskGroup(of: ObjectIdentifier.self) { group in
                for _ in 0..<4 { group.addTask { ObjectIdentifier(holder.reference.loadOrMake { Made() }) } }
                return await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(seen.count == 1)
            #expect(holder.reference.load().map(ObjectIdentifier.init) == seen.first)
            #expect(Self.alive.load(ordering: .sequentiallyConsistent) == 1)
        }
        #expect(Self.alive.load(ordering: .sequentiallyConsistent) == 0)
    }
}
