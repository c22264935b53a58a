import Foundation
import Mako
import TestHelpers
import Testing

import class MakoRecords.Catalogue
import struct MakoRecords.ChangeSet

private typealias Patient = Ward.Patient

private let secretText = "influenza of the duck"

/// Options with one of several property keys; nil: without.
private func options(_ number: UInt8? = 1) -> DatabaseOptions {
    DatabaseOptions(propertyKey: number.map { .key([UInt8](repeating: $0, count: 32)) })
}

/// Whether bytes stand in a file beside this one.
private func stands(_ text: String, beside path: String) throws -> Bool {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    #expect(!files.isEmpty)
    return try files.contains { try Data(contentsOf: $0).range(of: Data(text.utf8)) != nil }
}

/// The bytes of a column as they are stored.
private func stored(_ db: Database, _ column: String, in table: String = "Patient") throws -> [[UInt8]] {
    try db.rawQuery(text: "SELECT \(column) FROM \(table)").rows.map {
        if case .blob(let bytes)? = $0.first { bytes } else { [] }
    }
}

/// Writes bytes into a row, as an attacker with the file and without the key could.
private func put(_ bytes: [UInt8], _ column: String, row: Int64, _ db: Database) throws {
    try db.store.write { tx in
        let table = try Catalogue.load(view: tx.view).requireTable("Patient")
        var writer = RowWriter()
        writer.begin(try table.layout(for: [column]))
        writer.set(0, bytes)
        var changes = ChangeSet()
        _ = try table.update(&writer, key: .rowID(row), in: tx, changes: &changes)
    }
}

@Suite(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) struct EncryptedPropertyTests {
    private static func filled() -> Patient {
        let patient = Patient(name: "Ada", diagnosis: secretText, age: 987_654_321, mood: .restlessness)
        patient.born = Date(timeIntervalSinceReferenceDate: 0.1)
        patient.scan = Data("a scan of the left lung".utf8)
        patient.findings = [Ward.Finding(code: "R-1-abnormal", severity: 3)]
        patient.habits = ["smoking-a-pipe": 2]
        patient.notes = "was seen with a duck"
        patient.answer = .text("forty-two and a half")
        return patient
    }

    private static func check(_ patient: Patient) {
        #expect(patient.name == "Ada" && patient.diagnosis == secretText && patient.age == 987_654_321)
        #expect(patient.born == Date(timeIntervalSinceReferenceDate: 0.1) && patient.mood == .restlessness)
        #expect(patient.scan == Data("a scan of the left lung".utf8))
        #expect(patient.findings == [Ward.Finding(code: "R-1-abnormal", severity: 3)])
        #expect(patient.habits == ["smoking-a-pipe": 2])
        #expect(patient.answer == .text("forty-two and a half"))
    }

    private static let pieces = [
        secretText, "restlessness", "scan of the left", "R-1-abnormal", "smoking-a-pipe", "seen with a duck",
        "forty-two and",
    ]

    @Test func valuesAreReadBackAndNotStoredInPlainText() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [Patient.self, Ward.Bed.self], options: options())
            try db.save(Self.filled())
            var bed = Ward.Bed(number: "12b", occupant: "Queen Christina", weight: 61.5)
            try db.save(&bed)
            // In the log, and then in the data file.
            for _ in 0..<2 {
                for piece in Self.pieces + ["Queen Christina"] { #expect(try !stands(piece, beside: path), "\(piece)") }
                #expect(try stands("Ada", beside: path))
                try db.close()
                db = try Database(at: path, entities: [Patient.self, Ward.Bed.self], options: options())
                let patient = try #require(try db.find(Patient.self, 1))
                Self.check(patient)
                #expect(patient.notes == nil)
                try db.refresh(patient)
                #expect(patient.notes == "was seen with a duck")
                let read = try #require(try db.find(Ward.Bed.self, "12b"))
                #expect(read.occupant == "Queen Christina" && read.weight == 61.5)
            }
            let patient = try #require(try db.find(Patient.self, 1))
            patient.diagnosis = nil
            patient.age = .min
            try db.save(patient)
            let again = try #require(try db.find(Patient.self, 1))
            #expect(again.diagnosis == nil && again.age == .min && again.mood == .restlessness)
            try db.close()
        }
    }

    @Test func withoutItsKeyNothingIsReadOrStored() throws {
        try withTemporaryFile { path in
            var db = try Database(at: path, entities: [Patient.self], options: options())
            try db.save([Patient(name: "Ada", diagnosis: secretText), Patient(name: "Bob")])
            try db.close()
            let passphrase = DatabaseOptions(propertyKey: .passphrase("open sesame", rounds: 1024))
            for (options, problem) in [
                (options(nil), PropertyKeyProblem.missing), (options(2), .wrong(reason: "it is another key")),
                (passphrase, .wrong(reason: "it was locked with a key, not with a passphrase")),
                (DatabaseOptions(propertyKey: .key([1])), .wrong(reason: "a key has 32 bytes, not 1")),
            ] {
                let refusal = MakoError.propertyKey(entity: "Patient", property: "diagnosis", problem)
                db = try Database(at: path, entities: [Patient.self], options: options)
                #expect(throws: refusal) { try db.query(Patient.self).fetch() }
                #expect(throws: refusal) { try db.find(Patient.self, 1) }
                #expect(throws: refusal) { try db.save(Patient(name: "Eve", diagnosis: "a cold")) }
                #expect(throws: refusal) { try db.update(Patient.self).set(\.diagnosis, to: "a cold").run() }
                #expect(throws: refusal) { try db.query(Patient.self).fetchLightweight(prefetching: \.diagnosis) }
                #expect("\(refusal)".contains("DatabaseOptions.propertyKey"))
                // A missing value needs no key, nor do other properties.
                #expect(try db.find(Patient.self, 2)?.name == "Bob")
                #expect(try db.query(Patient.self).where(\.diagnosis != nil).count() == 1)
                #expect(try db.query(Patient.self).distinct(\.name) == ["Ada", "Bob"])
                try db.close()
            }
            db = try Database(at: path, entities: [Patient.self], options: options())
            #expect(try db.query(Patient.self).orderBy(\.name).fetch().map(\.diagnosis) == [secretText, nil])
            try db.close()
        }
    }

    @Test func aPassphraseDoesAsWell() throws {
        try withTemporaryFile { path in
            let options = DatabaseOptions(propertyKey: .passphrase("open sesame", rounds: 1024))
            var db = try Database(at: path, entities: [Patient.self], options: options)
            try db.save(Self.filled())
            try db.close()
            let other = DatabaseOptions(propertyKey: .passphrase("open barley", rounds: 1024))
            db = try Database(at: path, options: other)
            #expect(
                throws: MakoError.propertyKey(
                    entity: "Patient", property: "diagnosis", .wrong(reason: "it is another passphrase"))
            ) { try db.find(Patient.self, 1) }
            try db.close()
            // How much work a guess takes is what it was when the database was made.
            db = try Database(at: path, options: DatabaseOptions(propertyKey: .passphrase("open sesame", rounds: 2048)))
            Self.check(try #require(try db.find(Patient.self, 1)))
            try db.close()
            #expect("\(options)".contains("PropertyKey(passphrase)") && !"\(options)".contains("sesame"))
        }
    }

    @Test func secretsThatAreNoneAreRefused() throws {
        for key in [
            PropertyKey.key([]), .key([UInt8](repeating: 1, count: 31)), .passphrase(""), .passphrase("a", rounds: 3),
        ] {
            do throws(MakoError) {
                _ = try Database.inMemory(entities: [Patient.self], options: DatabaseOptions(propertyKey: key))
                Issue.record("\(key) was taken")
            } catch {
                guard case .propertyKey("Patient", "diagnosis", .wrong) = error else { throw error }
            }
        }
    }

    @Test func equalValuesAreSealedDifferently() throws {
        let db = try Database.inMemory(entities: [Patient.self], options: options())
        let ada = Patient(name: "Ada", diagnosis: secretText)
        try db.save([ada, Patient(name: "Bob", diagnosis: secretText)])
        let first = try stored(db, "diagnosis")
        #expect(first.count == 2 && first[0] != first[1])
        ada.diagnosis = secretText
        try db.save(ada)
        #expect(try stored(db, "diagnosis")[0] != first[0])
        // The first bytes, behind the one of the format, are what must never be used again.
        #expect(Set(first.map { Array($0.dropFirst().prefix(12)) }).count == 2)
    }

    @Test func damagedAndMovedValuesAreNoticed() throws {
        let db = try Database.inMemory(entities: [Patient.self], options: options())
        try db.save([Patient(name: "Ada", diagnosis: secretText, scan: Data(secretText.utf8)), Patient(name: "Bob")])
        let sealed = try stored(db, "diagnosis")[0]
        let damaged = MakoError.propertyKey(entity: "Patient", property: "diagnosis", .damaged)
        for place in [0, 1, 13, sealed.count / 2, sealed.count - 1] {
            var bytes = sealed
            bytes[place] ^= 0x10
            try put(bytes, "diagnosis", row: 1, db)
            #expect(throws: damaged) { try db.find(Patient.self, 1) }
        }
        for bytes in [[], [1], Array(sealed.dropLast()), sealed + [0], Array("plain text".utf8)] {
            try put(bytes, "diagnosis", row: 1, db)
            #expect(throws: damaged) { try db.find(Patient.self, 1) }
        }
        try put(try stored(db, "scan")[0], "diagnosis", row: 1, db)
        #expect(throws: damaged) { try db.find(Patient.self, 1) }
        try put(sealed, "diagnosis", row: 1, db)
        #expect(try db.find(Patient.self, 1)?.diagnosis == secretText)
        // To its row a value is not bound.
        try put(sealed, "diagnosis", row: 2, db)
        #expect(try db.find(Patient.self, 2)?.diagnosis == secretText)
    }

    @Test func conditionsMayOnlyTestWhetherItIsNil() throws {
        let db = try Database.inMemory(entities: [Patient.self], options: options())
        try db.save([Patient(name: "Ada", diagnosis: "d", age: 5), Patient(name: "Bob")])
        let query = db.query(Patient.self)
        #expect(try query.where(\.diagnosis == nil).fetch().map(\.name) == ["Bob"])
        #expect(try query.where(\.diagnosis != nil).fetch().map(\.name) == ["Ada"])
        #expect(try query.where("diagnosis IS NULL").fetch().map(\.name) == ["Bob"])
        #expect(try query.where("NOT diagnosis IS NULL AND age IS NOT NULL").fetch().map(\.name) == ["Ada"])
        #expect(try query.where("friend.diagnosis IS NULL").count() == 2)
        let refused = [
            query.where("diagnosis = 'd'"), query.where("diagnosis = ?", "d"), query.where("diagnosis = x'64'"),
            query.where("'d' = diagnosis"), query.where("diagnosis != 'd'"), query.where("diagnosis IN ('d', 'e')"),
            query.where("diagnosis LIKE 'd%'"), query.where("diagnosis GLOB 'd*'"),
            query.where("length(diagnosis) > 1"),
            query.where("diagnosis = diagnosis"), query.where("age BETWEEN 1 AND 9"), query.where("age + 1 = 6"),
            query.where("diagnosis || 'x' = 'dx'"), query.where("coalesce(diagnosis, x'') = x''"),
            query.where("diagnosis"), query.where("friend.diagnosis = 'd'"), query.where("answer_column = 1"),
            query.where(\.diagnosis == "d"), query.where(\.diagnosis != "d"), query.where(\.age > 3),
            query.where(\.scan == Data()), query.orderBy(\.diagnosis), query.orderBy("age", .descending),
        ]
        for query in refused {
            do throws(MakoError) {
                _ = try query.fetch()
                Issue.record("\(query) was answered")
            } catch { #expect("\(error)".contains("is encrypted"), "\(error)") }
        }
        let others: [() throws -> Any?] = [
            { try query.distinct(\.diagnosis) }, { try query.groupCount(\.age) }, { try query.min(\.age) },
            { try query.sum(\.age) }, { try db.rawQuery("SELECT DISTINCT diagnosis FROM Patient") },
            { try db.rawQuery("SELECT name FROM Patient ORDER BY diagnosis") },
            { try db.rawQuery("SELECT diagnosis, count(*) FROM Patient GROUP BY diagnosis") },
            { try db.rawQuery("SELECT age + 1 FROM Patient") },
            { try db.update(Patient.self).set(\.diagnosis, to: \.diagnosis).run() },
            { try db.update(Patient.self).set(\.age, to: \.age + 1).run() },
        ]
        for (number, ask) in others.enumerated() {
            do {
                _ = try ask()
                Issue.record("query \(number) was answered")
            } catch { #expect("\(error)".contains("is encrypted"), "\(error)") }
        }
        #expect(try query.fetch().map(\.name) == ["Ada", "Bob"])
    }

    @Test func besideTheFileTheValueIsPlain() throws {
        let db = try Database.inMemory(entities: [Patient.self], options: options())
        try db.save(Self.filled())
        let patient = try #require(try db.find(Patient.self, 1))
        #expect(patient.description.contains(secretText) && patient.description.contains("987654321"))
        #expect(
            patient.asDictionary["diagnosis"] == .text(secretText)
                && patient.asDictionary["age"] == .integer(987_654_321))
        let json = try JSONEncoder().encode(patient)
        #expect(json.range(of: Data(secretText.utf8)) != nil)
        let decoded = try JSONDecoder().decode(Patient.self, from: json)
        Self.check(decoded)
        // A dictionary holds the value as its type, not in the form of the column.
        Self.check(try Patient(patient.asDictionary.merging(["answer": patient.answer ?? .null]) { $1 }))
        let made = try Patient(["Diagnosis": "a cold", "age": 7, "mood": "calm"])
        #expect(made.diagnosis == "a cold" && made.age == 7 && made.mood == .calm)
        // The error does not show what is to be encrypted.
        let refusal = #expect(throws: MakoError.self) { try Patient(["age": "elderly"]) }
        #expect(try !#require(refusal).description.contains("elderly"))
        try db.save(decoded)
        Self.check(try #require(try db.find(Patient.self, 1)))
        // Calls without types return the stored bytes.
        let rows = try db.rawQuery("SELECT * FROM Patient")
        guard case .blob(let bytes)? = rows.value("diagnosis", row: 0) else {
            Issue.record("\(rows)")
            return
        }
        #expect(bytes.count == secretText.utf8.count + 5 + 29)
    }

    @Test func lightweightObjectsAndUpdates() throws {
        let db = try Database.inMemory(entities: [Patient.self], options: options())
        try db.save([Patient(name: "Ada", diagnosis: secretText), Patient(name: "Bob")])
        let light = try db.query(Patient.self).orderBy(\.name).fetchLightweight(prefetching: \.diagnosis, \.name)
        #expect(light[0].diagnosis == secretText && light[1].diagnosis == nil && light[1].name == "Bob")
        #expect(light[0].age == nil)
        let count = try db.update(Patient.self).set(\.diagnosis, to: "a cold").set(\.age, to: 3)
            .where(\.diagnosis == nil).run()
        #expect(count == 1)
        #expect(try db.query(Patient.self).orderBy(\.name).fetch().map(\.diagnosis) == [secretText, "a cold"])
        try db.update(Patient.self).set(\.diagnosis, to: \.name).run()
        #expect(try db.query(Patient.self).orderBy(\.name).fetch().map(\.diagnosis) == ["Ada", "Bob"])
        try db.update(Patient.self).set(\.diagnosis, to: nil).run()
        #expect(try db.query(Patient.self).where(\.diagnosis == nil).count() == 2)
        #expect(try stored(db, "age").map(\.isEmpty) == [true, false])
    }

    /// The key is a database's own, whichever transaction runs on the thread.
    @Test func eachDatabaseHasItsKey() throws {
        let one = try Database.inMemory(entities: [Patient.self], options: options(1))
        let two = try Database.inMemory(entities: [Patient.self], options: options(2))
        let ada = Patient(name: "Ada", diagnosis: "one")
        try one.transaction { _ in
            try two.transaction { _ in
                try one.save(ada)
                try two.save(Patient(name: "Bob", diagnosis: "two"))
            }
            #expect(try two.find(Patient.self, 1)?.diagnosis == "two")
        }
        #expect(try one.find(Patient.self, 1)?.diagnosis == "one")
        #expect(try two.find(Patient.self, 1)?.diagnosis == "two")
        // The same key gives other keys in other databases.
        let three = try Database.inMemory(entities: [Patient.self], options: options(1))
        try three.save(Patient(name: "Eve"))
        try put(try stored(one, "diagnosis")[0], "diagnosis", row: 1, three)
        #expect(throws: MakoError.propertyKey(entity: "Patient", property: "diagnosis", .damaged)) {
            try three.find(Patient.self, 1)
        }
    }

    /// A rolled-back transaction leaves no key behind.
    @Test func aFirstTransactionThatFailsLeavesNoKey() throws {
        struct Stop: Error {}
        try withTemporaryFile { path in
            var db = try Database(at: path, options: options())
            #expect(throws: Stop.self) {
                try db.transaction { _ in
                    try db.save(Patient(name: "Ada", diagnosis: "lost"))
                    #expect(try db.find(Patient.self, 1)?.diagnosis == "lost")
                    throw Stop()
                }
            }
            try db.transaction { _ in
                #expect(throws: Stop.self) {
                    try db.transaction { _ in
                        try db.save(Patient(name: "Ada", diagnosis: "lost"))
                        throw Stop()
                    }
                }
                try db.save(Patient(name: "Bob", diagnosis: "kept"))
                #expect(try db.query(Patient.self).fetch().map(\.diagnosis) == ["kept"])
            }
            try db.close()
            db = try Database(at: path, entities: [Patient.self], options: options())
            #expect(try db.query(Patient.self).fetch().map(\.diagnosis) == ["kept"])
            try db.close()
        }
    }

    @Test func theFilesOwnKeyIsAnother() throws {
        try withTemporaryFile { path in
            var both = options()
            both.encryption = .key([UInt8](repeating: 1, count: 32))
            var db = try Database(at: path, entities: [Patient.self], options: both)
            try db.save(Self.filled())
            try db.changeKey(to: .key([UInt8](repeating: 9, count: 32)))
            try db.close()
            both.encryption = .key([UInt8](repeating: 9, count: 32))
            db = try Database(at: path, entities: [Patient.self], options: both)
            Self.check(try #require(try db.find(Patient.self, 1)))
            let copy = path + ".copy"
            try db.backup(to: copy, compacting: true)
            try db.close()
            // Without encryption of the file, values are sealed still.
            try Database.encrypt(at: path, with: nil, options: both)
            db = try Database(at: path, entities: [Patient.self], options: options())
            Self.check(try #require(try db.find(Patient.self, 1)))
            for piece in Self.pieces { #expect(try !stands(piece, beside: path), "\(piece)") }
            try db.close()
            db = try Database(at: copy, entities: [Patient.self], options: both)
            Self.check(try #require(try db.find(Patient.self, 1)))
            try db.close()
        }
    }

    @Test func optionsThatDoNotFitAreRefused() throws {
        let db = try Database.inMemory(options: options())
        for type in [HandWritten.Indexed.self, HandWritten.Uncoded.self] as [any Entity.Type] {
            do throws(MakoError) {
                _ = try Database.inMemory(entities: [type], options: options())
                Issue.record("\(type) was taken")
            } catch { #expect("\(error)".contains("encrypted"), "\(error)") }
        }
        #expect(try db.query(Patient.self).count() == 0)
    }
}

/// Builds without ciphers say so.
@Suite(.enabled(if: !Encryption.isAvailable, "needs a build without the trait Encryption"))
struct UnavailablePropertyKeyTests {
    @Test func theTraitIsNamed() throws {
        do throws(MakoError) {
            _ = try Database.inMemory(options: options())
            Issue.record("a key was taken")
        } catch { #expect("\(error)".contains("trait Encryption")) }
        let db = try Database.inMemory(entities: [Patient.self])
        try db.save(Patient(name: "Ada"))
        #expect(throws: MakoError.propertyKey(entity: "Patient", property: "diagnosis", .missing)) {
            try db.save(Patient(name: "Bob", diagnosis: secretText))
        }
        #expect(try db.query(Patient.self).where(\.diagnosis == nil).fetch().map(\.name) == ["Ada"])
    }
}
