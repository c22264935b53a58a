import Dispatch
import MakoCore
import MakoStorage
import MakoTestSupport
import Synchronization
import Testing

/// Many tasks that move one reader on, beside a writer that also migrates; made for the thread sanitizer.
@Suite struct RefreshConcurrencyTests {
    /// The state that the tasks of a test share.
    private final class Shared: Sendable {
        private let flag = Atomic<Bool>(false)
        private let notes = Guarded<[String]>([])
        var isDone: Bool { flag.load(ordering: .relaxed) }
        func end() { flag.store(true, ordering: .relaxed) }
        func note(_ fault: String) { notes.withLock { $0.append(fault) } }
        var faults: [String] { notes.withLock { $0 } }
    }

    /// Each commit gives two countries one number.
    private func write(_ db: Database, _ number: Int) throws {
        try db.transaction { _ in
            try db.set("A", number)
            try db.set("B", number)
        }
    }

    @Test func concurrentRefreshesReportEachChangeOnce() async throws {
        let place = ReaderPlace()
        let db = try place.writer()
        try write(db, 0)
        let reader = try place.reader()
        let last = 60
        let notified = Guarded<[Int]>([])
        let token = try Country.onChange(in: reader) { change in
            notified.withLock { $0.append(change.object?.code == "A" ? change.object?.people ?? -1 : -2) }
        }
        let shared = Shared()
        let live = Task {
            var seen: [Int] = []
            for try await difference in reader.query(Country.self).orderBy(\.code).observe() {
                let numbers = Set(difference.results.map(\.people))
                guard let number = numbers.first, numbers.count == 1 else { throw Stop() }
                seen.append(number)
                if number == last { break }
            }
            return seen
        }
        let refreshers = (0..<4).map { _ in
            Task {
                var news = 0
                while !shared.isDone {
                    if try await reader.refresh() { news += 1 }
                    let (a, b) = try await reader.read {
                        (try reader.find(Country.self, "A")?.people, try reader.find(Country.self, "B")?.people)
                    }
                    if a != b { shared.note("\(a ?? -1) beside \(b ?? -1)") }
                }
                return news
            }
        }
        for number in 1...last {
            try write(db, number)
            if number % 7 == 0 { try db.store.checkpoint() }
        }
        shared.end()
        var news = 0
        for refresher in refreshers { news += try await refresher.value }
        news += try await reader.refresh() ? 1 : 0
        let seen = try await live.value
        #expect(seen.last == last && seen == seen.sorted() && Set(seen).count == seen.count)
        #expect(shared.faults == [])
        let numbers = notified.withLock { $0 }
        #expect(numbers.count == 2 * news)
        #expect(numbers.count { $0 == -2 } == news)
        token.cancel()
        try await reader.close()
        try await db.close()
    }

    @Test func readsDuringTableChangesAreRightOrThrow() async throws {
        let place = ReaderPlace()
        var db = try place.writer([Country.self])
        try write(db, 0)
        let reader = try place.reader([])
        let shared = Shared()
        let readers = (0..<3).map { number in
            Task {
                while !shared.isDone {
                    do throws(MakoError) {
                        if number == 0 { try await reader.refresh() }
                        let found = try await reader.query(Country.self).fetch()
                        if found.count != 2 || found.contains(where: { $0.people >= 100 }) { shared.note("\(found)") }
                    } catch {
                        guard case .migration = error else {
                            shared.note("\(error)")
                            return
                        }
                    }
                    do throws(MakoError) {
                        let found = try await reader.query(LaterReader.Worded.self).fetch()
                        if found.count != 2 || found.contains(where: { Int($0.people) == nil }) {
                            shared.note("\(found)")
                        }
                    } catch {
                        guard case .migration = error else {
                            shared.note("\(error)")
                            return
                        }
                    }
                }
            }
        }
        for round in 0..<6 {
            try await db.close()
            if round % 2 == 0 {
                db = try place.writer([LaterReader.Worded.self])
                try await db.rawQuery("UPDATE Country SET people = \("\(round)")")
            } else {
                db = try place.writer([Country.self])
                try write(db, round)
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        shared.end()
        for task in readers { await task.value }
        #expect(shared.faults == [])
        try await reader.close()
        try await db.close()
    }

    @Test func closingWhileOthersRefreshIsAnError() async throws {
        for _ in 0..<20 {
            let place = ReaderPlace()
            let db = try place.writer()
            let reader = try place.reader()
            let tasks = (0..<3).map { _ in
                Task { () -> String in
                    do throws(MakoError) {
                        while true { try await reader.refresh() }
                    } catch { return "\(error)" }
                }
            }
            try write(db, 1)
            try await reader.close()
            for task in tasks { #expect(await task.value == "\(MakoError.closed(path: "d/world.mako"))") }
            try await db.close()
        }
    }
}
