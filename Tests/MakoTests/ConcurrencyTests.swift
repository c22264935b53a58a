import Foundation
import Mako
import TestHelpers
import Testing

/// Made for the thread sanitizer as well: many threads on the same objects, databases and streams.
@Suite struct ConcurrencyTests {
    private func inParallel(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let threads = (0..<count).map { index in ThreadRun { body(index) } }
        for thread in threads { thread.wait() }
    }

    @Test func propertiesAreAtomic() throws {
        let db = try makeDatabase()
        let ada = Person(name: String(repeating: "a", count: 40), department: Department(name: "Engines"))
        try db.save(ada)
        let read = try #require(try db.find(Person.self, 1))
        let torn = Collected<String>()
        inParallel(4) { index in
            let mine = String(repeating: Character(UnicodeScalar(UInt8(97 + index))), count: 40)
            for round in 0..<200 {
                read.name = mine
                read.age = round
                let seen = read.name ?? ""
                if Set(seen).count != 1 || seen.count != 40 { torn.append(seen) }
                if read.department?.name != "Engines" { torn.append("department") }
            }
        }
        #expect(torn.all.isEmpty)
    }

    @Test func textsAreDecodedByManyThreads() throws {
        let db = try makeDatabase()
        let texts = (0..<50).map { "\($0) " + String(repeating: "x", count: 30) }
        try db.save(texts.map { Person(name: $0, age: 1, email: $0) })
        for _ in 0..<4 {
            let people = try db.query(Person.self).fetch()
            let wrong = Collected<String>()
            inParallel(4) { index in
                for (person, text) in zip(people, texts) {
                    if person.name != text { wrong.append(person.name ?? "nil") }
                    if index == 0 { person.email = text + "!" }
                    let email = person.email
                    if email != text && email != text + "!" { wrong.append(email) }
                    person.age += index
                    if person.name != text { wrong.append(person.name ?? "nil") }
                }
            }
            #expect(wrong.all.isEmpty)
            #expect(people.map(\.email) == texts.map { $0 + "!" })
        }
    }

    @Test func lazyLoadsGiveOneObject() throws {
        let db = try makeDatabase()
        try db.save(Person(name: "Ada", department: Department(name: "Engines")))
        for _ in 0..<10 {
            let read = try #require(try db.find(Person.self, 1))
            let seen = Collected<ObjectIdentifier>()
            inParallel(4) { _ in if let department = read.department { seen.append(ObjectIdentifier(department)) } }
            #expect(Set(seen.all).count == 1)
            #expect(seen.all.count == 4)
        }
    }

    @Test func writersAndReaders() throws {
        let db = try makeDatabase()
        let faults = Collected<String>()
        inParallel(4) { index in
            do {
                for round in 0..<25 {
                    if index < 2 {
                        try db.transaction { _ in
                            try db.save(Person(name: "a", age: index * 1000 + round))
                            try db.save(Person(name: "b", age: index * 1000 + round))
                        }
                    } else {
                        try db.read {
                            let first = try db.query(Person.self).count()
                            if first % 2 != 0 { faults.append("half a transaction: \(first)") }
                            let second = try db.query(Person.self).fetch().count
                            if first != second { faults.append("\(first) then \(second)") }
                        }
                    }
                }
            } catch {
                faults.append("\(error)")
            }
        }
        #expect(faults.all.isEmpty)
        #expect(try db.query(Person.self).count() == 100)
        #expect(Set(try db.query(Person.self).ids()).count == 100)
    }

    @Test func oneObjectCommittedFromManyThreads() throws {
        let db = try makeDatabase()
        let ada = Person(name: "Ada", age: 0)
        try db.save(ada)
        let faults = Collected<String>()
        inParallel(4) { index in
            do {
                for round in 0..<20 {
                    ada.age = index * 100 + round
                    ada.email = "\(index)-\(round)"
                    try db.save(ada)
                }
            } catch {
                faults.append("\(error)")
            }
        }
        #expect(faults.all.isEmpty)
        try db.save(ada)
        let read = try #require(try db.find(Person.self, 1))
        #expect(read.age == ada.age)
        #expect(read.email == ada.email)
        #expect(try db.query(Person.self).count() == 1)
    }

    @Test func firstUseFromManyThreads() throws {
        for _ in 0..<5 {
            let db = try Database.inMemory()
            let faults = Collected<String>()
            inParallel(4) { index in
                do {
                    if index % 2 == 0 {
                        try db.save(Person(name: "\(index)"))
                    } else {
                        _ = try db.query(Person.self).count()
                    }
                } catch {
                    faults.append("\(error)")
                }
            }
            #expect(faults.all.isEmpty)
            #expect(try db.query(Person.self).count() == 2)
        }
    }

    @Test func eventsComeInTheOrderOfCommits() throws {
        let db = try makeDatabase()
        let keys = Collected<Int64>()
        let token = try Location.onChange(.insert, in: db) { change in
            if case .rowID(let id)? = change.key { keys.append(id) }
        }
        let faults = Collected<String>()
        inParallel(4) { _ in
            for _ in 0..<25 {
                do { try db.save(Location(name: "x")) } catch { faults.append("\(error)") }
            }
        }
        // A commit that hands its events to another notifying thread may return before they are delivered.
        for _ in 0..<200 where keys.all.count < 100 { Thread.sleep(forTimeInterval: 0.01) }
        #expect(faults.all.isEmpty)
        #expect(keys.all == (1...100).map { Int64($0) })
        token.cancel()
    }

    @Test func asyncFormsFromManyTasks() async throws {
        let db = try makeDatabase()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<20 {
                group.addTask {
                    try await db.transaction { _ in try db.save(Person(name: "\(index)")) }
                    _ = try await db.query(Person.self).where(\.name == "\(index)").first()
                }
            }
            // Unlike `waitForAll`, this cancels the other tasks at the first error.
            for try await _ in group {}
        }
        #expect(try await db.query(Person.self).count() == 20)
    }

    @Test func liveQueriesShowWholeCommits() async throws {
        let db = try makeDatabase()
        let people = (0..<40).map { Person(name: "\($0)", age: 100, email: "x") }
        try await db.save(people)
        let faults = Collected<String>()
        let readers = (0..<4).map { number in
            Task {
                // By index, by scan, of some rows and with a limit: the sums are those of whole transfers.
                var query = db.query(Person.self).where(text: number % 2 == 0 ? "age > -1000000" : "email = 'x'")
                if number > 1 { query = query.orderBy(\.age, .descending).limit(60) }
                var notified = 0
                for try await difference in query.observe() {
                    notified += 1
                    let sum = difference.results.reduce(0) { $0 + $1.age }
                    if sum != 4000 { faults.append("reader \(number): \(sum) after \(notified)") }
                    if difference.results.contains(where: { $0.name == "last" }) { break }
                }
                return notified
            }
        }
        while db.metrics.liveQueries < 4 { try await Task.sleep(for: .milliseconds(1)) }
        inParallel(3) { index in
            do {
                for round in 0..<400 {
                    try db.transaction(durability: round % 3 == 0 ? .async(maxDelay: .milliseconds(1)) : nil) { _ in
                        let from = try #require(try db.find(Person.self, (index * 13 + round * 7) % 40 + 1))
                        let to = try #require(try db.find(Person.self, (index * 5 + round * 11) % 40 + 1))
                        if from.id == to.id { return }
                        from.age -= round
                        try from.commit()
                        to.age += round
                        try to.commit()
                    }
                }
            } catch {
                faults.append("\(error)")
            }
        }
        try await db.save(Person(name: "last", age: 0, email: "x"))
        for reader in readers { #expect(try await reader.value > 1) }
        #expect(faults.all == [])
    }
}
