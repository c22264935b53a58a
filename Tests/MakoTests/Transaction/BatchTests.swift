import Mako
import MakoCore
import MakoRecords
import MakoStorage
import TestHelpers
import Testing

@Entity final class Badge {
    @Attribute(.unique) var code = ""
    @Attribute(.indexed) var holder = ""
    var level = 0
    var probe: Probe = Probe()
}

@Entity class Voucher {
    var title = ""
}

@Entity final class NumberedVoucher: Voucher {
    @Attribute(.indexed) var number = 0
    func willInsert() -> Bool { title != "refused" }
}

/// A value whose coding looks around while its object is being saved.
struct Probe: StorableValue {
    static let look = Guarded<(@Sendable () -> Void)?>(nil)
    static var columnType: ColumnType { .integer }
    var stored: StoredValue {
        Probe.look.withLock { $0 }?()
        return .integer(0)
    }
    init() {}
    init?(stored: StoredValue) {}
}

@Suite(.serialized) struct BatchTests {
    private func badges(_ range: Range<Int>, _ holder: String = "Ada") -> [Badge] {
        // In no order, so that indexes are not filled in theirs.
        range.map { Badge(code: "\($0 &* 7919 % 10007)-\($0)", holder: holder, level: $0) }
    }

    /// Every index agrees with the rows.
    private func expectSound(_ db: Database, sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try db.verify().isClean, sourceLocation: sourceLocation)
    }

    @Test func anArrayOfStructsIsDeleted() throws {
        let db = try makeDatabase([Rate.self, Reading.self])
        let rates = ["a", "b", "c"].map { Rate(from: $0, to: "x", rate: 1) }
        try db.save(rates)
        #expect(try db.delete([rates[0], rates[2], rates[0], Rate(from: "no", to: "row", rate: 1)]) == 2)
        #expect(try db.query(Rate.self).fetch().map(\.from) == ["b"])
        let readings = try db.save((1...3).map { Reading(sensor: "s", value: Double($0)) })
        let counts = try db.transaction { tx in [try tx.delete(Array(readings.prefix(2))), try tx.delete([Rate]())] }
        #expect(counts == [2, 0])
        #expect(try db.query(Reading.self).fetch().map(\.value) == [3])
        #expect(try db.delete([Reading(sensor: "new", value: 0)]) == 0)
    }

    @Test func aTransactionDeletesAnArrayOfObjects() throws {
        let db = try makeDatabase([Badge.self])
        let some = badges(0..<5)
        try db.save(some)
        #expect(try db.transaction { tx in try tx.delete(Array(some.prefix(3))) } == 3)
        #expect(try db.query(Badge.self).count() == 2)
    }

    @Test func aDuplicateInABatchTakesAllBack() throws {
        let db = try makeDatabase([Badge.self])
        let old = Badge(code: "taken", holder: "Bob")
        try db.save(old)
        for clash in ["taken", badges(3..<4)[0].code] {
            let fresh = badges(0..<200) + [Badge(code: clash)] + badges(200..<300)
            old.level += 1
            let level = old.level
            #expect(throws: MakoError.duplicate(entity: "Badge", properties: ["code"], values: [.text(clash)])) {
                try db.save(fresh + [old])
            }
            #expect(fresh.allSatisfy { $0.id == nil && $0.isDirty })
            #expect(old.isDirty)
            #expect(try db.query(Badge.self).count() == 1)
            #expect(try db.find(Badge.self, 1)?.level != level)
            try expectSound(db)
        }
        let fresh = badges(0..<300)
        try db.save(fresh + [old])
        #expect(fresh.allSatisfy { $0.id != nil && !$0.isDirty })
        #expect(try db.query(Badge.self).count() == 301)
        try expectSound(db)
    }

    @Test func objectsOfSeveralClassesAreSavedTogether() throws {
        let db = try makeDatabase([Voucher.self])
        func vouchers(_ title: String) -> [Voucher] {
            let numbered = NumberedVoucher()
            numbered.title = title
            return (0..<60).map { $0 % 7 == 3 ? NumberedVoucher(number: $0) : Voucher(title: "\($0)") } + [numbered]
                + (0..<5).map { Voucher(title: "last \($0)") }
        }
        try db.save(vouchers("good"))
        #expect(try db.query(Voucher.self).count() == 56)
        #expect(try db.query(NumberedVoucher.self).count() == 10)
        #expect(try db.query(NumberedVoucher.self).where(\.number == 17).count() == 1)
        #expect(throws: MakoError.self) { try db.save(vouchers("refused")) }
        #expect(try db.query(Voucher.self).count() == 56)
        try expectSound(db)
    }

    @Test func amongManyChangedObjectsEachIsSavedByItsOwnOptions() throws {
        let db = try makeDatabase([Badge.self])
        let other = try makeDatabase([Badge.self])
        try db.save(badges(0..<100))
        let all = Array(try db.query(Badge.self).fetch())
        for badge in all { badge.level += 1000 }
        let notified = Collected<Int>()
        try all[50].remove()
        #expect(throws: MakoError.deleted(entity: "Badge", key: "51")) { try db.save(all) }
        #expect(all.allSatisfy { $0.isDirty })
        #expect(try db.query(Badge.self).where(\.level >= 1000).count() == 0)
        let rest = all.filter { $0 !== all[50] }
        all[40].commitOptions.postCommit = { notified.append(40) }
        all[40].commitOptions.resetsAfterCommit = true
        // Deletes the row below the object, which still counts as stored.
        #expect(try db.query(Badge.self).where("id = 61").delete() == 1)
        try db.save(rest + [Badge(code: "new", level: 1000)])
        #expect(notified.all == [40])
        #expect(try db.query(Badge.self).where(\.level >= 1000).count() == 100)
        #expect(try db.find(Badge.self, 61)?.code == all[60].code && db.find(Badge.self, 51) == nil)
        #expect(all.allSatisfy { $0 === all[50] || !$0.isDirty })
        try expectSound(db)

        let foreign = Badge(code: "foreign")
        try other.save(foreign)
        for badge in all + [foreign] { badge.level += 1000 }
        #expect(throws: MakoError.foreignObject(entity: "Badge")) { try db.save(rest + [foreign]) }
        #expect(all.allSatisfy(\.isDirty) && foreign.isDirty)
        #expect(try db.query(Badge.self).where(\.level >= 2000).count() == 0)
        try db.save(rest)
        #expect(notified.all == [40])
        #expect(try db.query(Badge.self).where(\.level >= 2000).count() == 99)
        try expectSound(db)
    }

    @Test func queriesInTheTransactionSeeTheBatch() throws {
        let db = try makeDatabase([Badge.self])
        try db.transaction { _ in
            try db.save(self.badges(0..<500))
            #expect(try db.query(Badge.self).where(\.holder == "Ada").count() == 500)
            let one = badges(77..<78)[0].code
            #expect(try db.query(Badge.self).where(\.code == one).fetch().map(\.level) == [77])
            let again = try db.query(Badge.self).where(\.holder == "Ada").fetch()
            for badge in again { badge.holder = "Bob" }
            try db.save(Array(again) + badges(500..<600))
            #expect(try db.query(Badge.self).where(\.holder == "Ada").count() == 100)
            #expect(try db.query(Badge.self).where(\.holder == "Bob").count() == 500)
        }
        try expectSound(db)
    }

    @Test func savepointsDropWhatWasKeptBack() throws {
        let db = try makeDatabase([Badge.self])
        let kept = badges(0..<100)
        let dropped = badges(100..<200, "Bob")
        try db.transaction { _ in
            try db.save(kept)
            #expect(throws: Refused()) {
                try db.transaction { _ in
                    try db.save(dropped)
                    throw Refused()
                }
            }
            #expect(throws: MakoError.self) { try db.save(badges(200..<300) + kept.map { Badge(code: $0.code) }) }
            #expect(try db.query(Badge.self).where(\.holder == "Bob").count() == 0)
            #expect(try db.query(Badge.self).where(\.holder == "Ada").count() == 100)
        }
        #expect(dropped.allSatisfy { $0.id == nil })
        #expect(kept.allSatisfy { $0.id != nil })
        try expectSound(db)
        try db.save(dropped)
        #expect(try db.query(Badge.self).where(\.holder == "Bob").count() == 100)
        try expectSound(db)
    }

    @Test func referencesAreSavedWithABatch() throws {
        let db = try makeDatabase()
        let engines = Department(name: "Engines")
        let crew = (0..<100).map { Person(name: "p\($0 * 37 % 100)", age: $0, payrollNumber: $0) }
        for person in crew { person.department = person.age % 2 == 0 ? engines : Department(name: "d\(person.age)") }
        try db.save(crew)
        #expect(try db.query(Department.self).count() == 51)
        #expect(try db.query(Person.self).where(\.name == "p37").fetch().map(\.age) == [1])
        let inEngines = engines.people
        #expect(try inEngines.count == 50)
        try expectSound(db)
        #expect(throws: MakoError.self) {
            try db.save(
                (0..<50).map { number in
                    let person = Person(name: "q", payrollNumber: number + 60)
                    person.department = Department(name: "late \(number)")
                    return person
                })
        }
        #expect(try db.query(Department.self).count() == 51)
        #expect(try db.query(Person.self).count() == 100)
        try expectSound(db)
    }

    @Test func structsAreSavedTogether() throws {
        let db = try makeDatabase([Wolf.self, Den.self])
        let wolves = try db.save((0..<100).map { Wolf(name: "w\($0 * 31 % 100)", weight: Double($0)) })
        #expect(wolves.count == 100)
        // The same names again: the rows are replaced.
        try db.save(wolves.map { Wolf(name: $0.name, weight: $0.weight + 1) })
        #expect(try db.query(Wolf.self).count() == 100)
        #expect(try db.find(Wolf.self, "w31")?.weight == 2)
        try expectSound(db)
    }

    @Test func readsDuringABatchSeeStoredRows() throws {
        let db = try makeDatabase([Badge.self])
        let seen = Collected<Int>()
        Probe.look.withLock {
            $0 = {
                do { seen.append(try db.query(Badge.self).where(\.holder == "Ada").count()) } catch {
                    Issue.record(error)
                }
            }
        }
        defer { Probe.look.withLock { $0 = nil } }
        try db.save(badges(0..<40))
        #expect(seen.all == Array(0..<40))
        try expectSound(db)
    }

    @Test func savingWhileAnotherObjectIsWrittenIsRefused() throws {
        let db = try makeDatabase([Badge.self, Wolf.self, Den.self])
        let refused = Collected<MakoError>()
        Probe.look.withLock {
            $0 = {
                // The object locks its own stripe while it is encoded: a nested save must be that of a struct.
                var wolf = Wolf(name: "Akela")
                do throws(MakoError) { try db.save(&wolf) } catch { refused.append(error) }
            }
        }
        defer { Probe.look.withLock { $0 = nil } }
        try db.save(Badge(code: "a"))
        #expect(refused.all == [.unsupported("saving an object while another one is being written")])
        #expect(try db.query(Badge.self).count() == 1)
        try expectSound(db)
    }

    @Test func changesOfABatchAreReportedRowByRow() throws {
        let db = try makeDatabase([Badge.self])
        let notified = Collected<String>()
        let token = db.onInsert { notified.append("\($0.key.map { "\($0)" } ?? "")") }
        let fresh = badges(0..<50)
        try db.save(fresh)
        #expect(notified.all == fresh.compactMap { $0.id.map { "\($0)" } })
        token.cancel()
        try db.save(badges(50..<100))
        #expect(notified.all.count == 50)
    }
}
