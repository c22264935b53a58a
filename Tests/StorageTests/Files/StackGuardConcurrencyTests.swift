import CPlatform
import MakoStorage
import MakoTestSupport
import Testing

/// Recursion that checks the stack before each level.
@Suite struct StackGuardConcurrencyTests {
    private struct Fault: Error, Equatable {}

    /// Recurses, and fails at the bottom where that is wanted.
    private static func sum(_ levels: Int, failing: Bool = false) throws(Fault) -> Int {
        if levels == 0 {
            if failing { throw Fault() }
            return 0
        }
        return try StackGuard.run(isDeep: false) { () throws(Fault) -> Int in
            1 + (try sum(levels - 1, failing: failing))
        } orElse: { () throws(Fault) -> Int in
            throw Fault()
        }
    }

    /// Several stacks behind each other; the thread sanitizer follows some 60,000 calls inside each other.
    @Test func recursionGoesOnOnLargeStacks() async throws {
        let (sum, fault) = try await onSmallStack {
            (try Self.sum(15_000), #expect(throws: Fault.self) { try Self.sum(15_000, failing: true) })
        }
        #expect(sum == 15_000 && fault == Fault())
    }

    @Test func concurrentDeepCallsGetEnoughStack() async throws {
        let rooms = try await onSmallStack {
            let own = mako_stack_room()
            return (own, StackGuard.run(isDeep: true, mako_stack_room, orElse: { 0 }), mako_stack_room())
        }
        #expect(rooms.0 < 512 << 10, "\(rooms)")
        #expect(rooms.1 > 4 << 20, "\(rooms)")
        #expect(rooms.2 <= rooms.0, "\(rooms)")
    }

    /// Thread-local state stays the same.
    @Test func theThreadStaysTheSame() async throws {
        let scopes = try await onSmallStack {
            mako_set_cancellation(UnsafeMutableRawPointer(bitPattern: 64))
            defer { mako_set_cancellation(nil) }
            func scope() -> Int { Int(bitPattern: mako_get_cancellation()) }
            return (StackGuard.run(isDeep: true, scope, orElse: { 0 }), scope())
        }
        #expect(scopes == (64, 64))
    }

    @Test func threadsShareSpareStacks() async throws {
        let sums = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await onSmallStack { try (0..<100).reduce(0) { $0 + (try Self.sum(3000 + $1 % (number + 1))) } }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sums.count == 8 && sums.allSatisfy { $0 >= 300_000 })
    }
}
