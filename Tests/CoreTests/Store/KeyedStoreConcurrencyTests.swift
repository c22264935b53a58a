import Dispatch
import MakoCore
import MakoStorage
import Testing

/// Keyed stores under many threads; made for the thread sanitizer.
@Suite struct KeyedStoreConcurrencyTests {
    @Test func revisionsOfOneKeyHaveNoGapAndNoDouble() throws {
        let db = try Database.inMemory()
        let store = try db.store("notes", keptRevisions: 7)
        let numbers = Guarded<[Int]>([])
        let errors = Guarded<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            do {
                for round in 0..<25 {
                    if round % 5 == 0 {
                        // A rollback must not use up a number.
                        do {
                            try db.transaction { _ in
                                try store.set(-1, for: "shared")
                                throw Stop()
                            }
                        } catch is Stop {}
                    }
                    let number = try store.set(thread * 1_000 + round, for: "shared", tags: ["thread \(thread)"])
                    numbers.withLock { $0.append(number) }
                }
            } catch {
                errors.withLock { $0.append("\(error)") }
            }
        }
        #expect(errors.withLock { $0 }.isEmpty)
        #expect(numbers.withLock { $0 }.sorted() == Array(1...100))
        #expect(try store.revisions(of: "shared").map(\.number) == Array(94...100))
        #expect(try store.tags().count == 1)
    }

    @Test func readersSeeWholeWrites() throws {
        let db = try Database.inMemory()
        let store = try db.store("notes")
        try store.set(0, for: "left", tags: ["0"])
        try store.set(0, for: "right", tags: ["0"])
        let errors = Guarded<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            do {
                for round in 1...30 {
                    if thread == 0 {
                        try db.transaction { _ in
                            try store.set(round, for: "left", tags: ["\(round)"])
                            try store.set(round, for: "right", tags: ["\(round)"])
                        }
                        continue
                    }
                    let pair = try store.values(Int.self).map(\.value)
                    let isWhole = try db.read {
                        guard let tag = try store.info(for: "left")?.tags.first else { return false }
                        return try store.keys(taggedAll: [tag]) == ["left", "right"]
                    }
                    if pair.count != 2 || pair[0] != pair[1] || !isWhole { throw Stop() }
                }
            } catch {
                errors.withLock { $0.append("\(error)") }
            }
        }
        #expect(errors.withLock { $0 }.isEmpty)
    }
}
