import Foundation
import Mako
import MakoCommand
import TestHelpers
import Testing

private let secretText = "measles of the goose"

private func options(_ number: UInt8? = 1) -> DatabaseOptions {
    DatabaseOptions(propertyKey: number.map { .key([UInt8](repeating: $0, count: 32)) })
}

/// Properties that become encrypted, or cease to be, over tables that have rows.
@Suite(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) struct EncryptionMigrationTests {
    private static func withPlain(_ body: (String) throws -> Void) throws {
        try withTemporaryFile { path in
            let db = try Database(at: path, entities: [PlainWard.Case.self])
            try db.save([
                PlainWard.Case(name: "Ada", diagnosis: secretText, scan: Data("goose.png".utf8)),
                PlainWard.Case(name: "Bob"), PlainWard.Case(name: "Eve", diagnosis: "17"),
            ])
            try db.close()
            try body(path)
        }
    }

    private static func withSealed(_ body: (String) throws -> Void) throws {
        try withPlain { path in
            try Database(at: path, entities: [SealedWard.Case.self], options: options()).close()
            try body(path)
        }
    }

    private static func stands(_ text: String, in path: String) throws -> Bool {
        try Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data(text.utf8)) != nil
    }

    @Test func plainValuesAreSealed() throws {
        try Self.withPlain { path in
            #expect(try Self.stands(secretText, in: path))
            let plan = try Database.migrationPlan(at: path, entities: [SealedWard.Case.self], options: options())
            #expect(plan.canBeDone && plan.losses.isEmpty && "\(plan)".contains("encrypt column diagnosis: 2 objects"))
            var db = try Database(at: path, entities: [SealedWard.Case.self], options: options())
            #expect(db.migrations.map(\.description) == ["encrypt column diagnosis", "encrypt column scan"])
            let all = try db.query(SealedWard.Case.self).orderBy(\.name).fetch()
            #expect(all.map(\.diagnosis) == [secretText, nil, "17"])
            #expect(all.map(\.scan) == [Data("goose.png".utf8), nil, nil])
            #expect(try db.query(SealedWard.Case.self).where(\.name == "Eve").explain().contains("index"))
            try db.close()
            // Compaction drops the pages that had the values.
            try Database.compact(at: path)
            #expect(try !Self.stands(secretText, in: path) && !Self.stands("goose.png", in: path))
            db = try Database(at: path, entities: [SealedWard.Case.self], options: options())
            #expect(db.migrations.isEmpty)
            #expect(try db.query(SealedWard.Case.self).where(\.name == "Ada").first()?.diagnosis == secretText)
            try db.close()
        }
    }

    @Test func sealedValuesBecomePlainAgain() throws {
        try Self.withSealed { path in
            let db = try Database(at: path, entities: [PlainWard.Case.self], options: options())
            #expect(db.migrations.map(\.description) == ["decrypt column diagnosis", "decrypt column scan"])
            let all = try db.query(PlainWard.Case.self).where(\.diagnosis != nil).orderBy(\.diagnosis).fetch()
            #expect(all.map(\.diagnosis) == ["17", secretText] && all[1].scan == Data("goose.png".utf8))
            try db.close()
        }
    }

    @Test func neitherIsDoneWithoutTheKey() throws {
        let missing = MakoError.propertyKey(entity: "Case", property: "diagnosis", .missing)
        try Self.withPlain { path in
            #expect(throws: missing) { try Database(at: path, entities: [SealedWard.Case.self]) }
            let plan = try Database.migrationPlan(at: path, entities: [SealedWard.Case.self])
            #expect(
                !plan.canBeDone && "\(plan)".contains("DatabaseOptions.propertyKey") && !"\(plan)".contains(secretText))
            let db = try Database(at: path, entities: [PlainWard.Case.self])
            #expect(try db.query(PlainWard.Case.self).where(\.diagnosis == secretText).count() == 1)
            try db.close()
        }
        try Self.withSealed { path in
            #expect(throws: missing) { try Database(at: path, entities: [PlainWard.Case.self]) }
            #expect(
                throws: MakoError.propertyKey(
                    entity: "Case", property: "diagnosis", .wrong(reason: "it is another key"))
            ) { try Database(at: path, entities: [PlainWard.Case.self], options: options(2)) }
            let db = try Database(at: path, entities: [SealedWard.Case.self], options: options())
            #expect(db.migrations.isEmpty)
            #expect(try db.query(SealedWard.Case.self).where(\.name == "Ada").first()?.diagnosis == secretText)
            try db.close()
            // A read-only file is not migrated, and encrypted values are not read as plain ones.
            var reading = options()
            reading.readOnly = true
            #expect(throws: MakoError.self) {
                try Database(at: path, entities: [PlainWard.Case.self], options: reading)
            }
            let read = try Database(at: path, entities: [SealedWard.Case.self], options: reading)
            #expect(try read.query(SealedWard.Case.self).where(\.name == "Ada").first()?.diagnosis == secretText)
            try read.close()
        }
    }

    /// A value is bound to its column, whose name is not what makes it the one it is.
    @Test func renamedPropertiesKeepTheirValues() throws {
        try Self.withSealed { path in
            // Nothing is rewritten, so no key is needed.
            var db = try Database(at: path, entities: [RenamedWard.Case.self])
            #expect(db.migrations.map(\.description).contains("rename column diagnosis to illness"))
            try db.close()
            db = try Database(at: path, entities: [RenamedWard.Case.self], options: options())
            let all = try db.query(RenamedWard.Case.self).orderBy(\.name).fetch()
            #expect(all.map(\.illness) == [secretText, nil, "17"])
            all[1].illness = "new"
            try db.save(all[1])
            #expect(try db.query(RenamedWard.Case.self).where(\.illness != nil).count() == 3)
            try db.close()
        }
    }

    @Test func encryptedValuesAreConverted() throws {
        try Self.withSealed { path in
            do throws(MakoError) {
                _ = try Database(at: path, entities: [NumberWard.Case.self], options: options())
                Issue.record("text became a number")
            } catch {
                #expect(
                    "\(error)".contains("an encrypted text does not become an integer") && !"\(error)".contains("goose")
                )
            }
            var db = try Database(at: path, entities: [SealedWard.Case.self], options: options())
            try db.query(SealedWard.Case.self).where(\.name == "Ada").delete()
            try db.close()
            db = try Database(at: path, entities: [NumberWard.Case.self], options: options())
            #expect(db.migrations.map(\.description).contains("convert column diagnosis from text to integer"))
            #expect(try db.query(NumberWard.Case.self).orderBy(\.name).fetch().map(\.diagnosis) == [nil, 17])
            try db.close()
            db = try Database(at: path, entities: [SealedWard.Case.self], options: options())
            #expect(try db.query(SealedWard.Case.self).orderBy(\.name).fetch().map(\.diagnosis) == [nil, "17"])
            try db.close()
        }
    }

    /// Steps by hand are given plain values, and what they make is sealed.
    @Test func stepsByHandSeeThePlainValues() throws {
        try Self.withSealed { path in
            let db = try Database(at: path, entities: [HandWard.Record.self], options: options())
            let all = try db.query(HandWard.Record.self).orderBy(\.name).fetch()
            #expect(all.map(\.diagnosis) == [secretText + "!", nil, "17!"])
            #expect(all.map(\.summary) == ["Ada: \(secretText)!", "Bob: -", "Eve: 17!"])
            #expect(all[0].scan == Data("goose.png".utf8))
            #expect(!db.tables.contains { $0.name == "Case" })
            try db.close()
            try Database.compact(at: path)
            #expect(try !Self.stands("goose", in: path) && Self.stands("Ada", in: path))
        }
        try Self.withPlain { path in
            // One value for all rows would stand in the catalogue.
            #expect(throws: MakoError.self) {
                try Database(at: path, entities: [HandWard.Filled.self], options: options())
            }
        }
    }

    @Test func typesOfOneTableAgree() throws {
        for types in [[SealedWard.Case.self, PlainWard.Case.self], [PlainWard.Case.self, SealedWard.Case.self]]
            as [[any Entity.Type]]
        {
            do throws(MakoError) {
                _ = try Database.inMemory(entities: types, options: options())
                Issue.record("both were taken")
            } catch { #expect("\(error)".contains("encrypted in one of them only"), "\(error)") }
        }
        let db = try Database.inMemory(entities: [SealedWard.Case.self], options: options())
        try db.save(SealedWard.Case(name: "Ada", scan: Data([1, 2, 3])))
        #expect(throws: MakoError.self) { try db.query(PlainWard.Case.self).fetch() }
        #expect(throws: MakoError.self) { try db.query(SealedWard.PlainScan.self).fetch() }
        #expect(try db.query(SealedWard.CaseScan.self).fetch().map(\.scan) == [Data([1, 2, 3])])
        #expect(try db.query(SealedWard.Case.self).fetch().map(\.scan) == [Data([1, 2, 3])])
    }

    /// The program `mako` has no key: it prints the stored bytes, and stores nothing in encrypted columns.
    @Test func theCommandGivesBytes() throws {
        try Self.withSealed { path in
            let out = path + ".json"
            var export = try MakoProgram.parseAsRoot(["export", path, "Case", "--output", out])
            try export.run()
            let text = try String(contentsOfFile: out, encoding: .utf8)
            #expect(text.contains("Ada") && !text.contains("goose") && !text.contains("measles"))
            func imported(_ rows: String, into path: String) throws {
                try rows.write(toFile: out, atomically: true, encoding: .utf8)
                var command = try MakoProgram.parseAsRoot(["import", out, path, "--table", "Case"])
                try command.run()
            }
            // A program ends with the file that it could not fill; this one goes on.
            let copy = path + ".copy"
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            do {
                try imported(#"[{"name": "Max", "diagnosis": "x'0102'"}]"#, into: copy)
                Issue.record("bytes were taken for values")
            } catch { #expect("\(error)" == "ExitCode(rawValue: 65)") }
            try imported(#"[{"name": "Max", "diagnosis": null}]"#, into: path)
            let db = try Database(at: path, entities: [SealedWard.Case.self], options: options())
            let names = try db.query(SealedWard.Case.self).where(\.diagnosis == nil).orderBy(\.name).fetch().map(\.name)
            #expect(names == ["Bob", "Max"])
            try db.close()
        }
    }
}
