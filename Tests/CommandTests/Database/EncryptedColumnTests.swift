import Foundation
import MakoRecords
import MakoStorage
import Testing

@testable import MakoCommand

/// Columns of encrypted properties, for which the program has no key.
@Suite struct EncryptedColumnTests {
    private let store: Store
    private let schema = EntitySchema(
        name: "Patient",
        columns: [ColumnSchema("name", .text), ColumnSchema("diagnosis", .blob, isOptional: true, sealing: .text)])

    init() throws {
        store = try Store.inMemory()
        let schema = schema
        try store.write { tx in _ = try Catalogue.migrate(to: schema, in: tx) }
    }

    private func failure(_ text: String, replaces: Bool) throws -> Failure? {
        let path = try temporaryPath("source.csv")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let options = TableImport.Options(format: .csv, replaces: replaces)
        let work = TableImport(path: path, table: "Patient", options: options)
        do {
            _ = try work.run(columns: work.inspect().columns, in: store)
            return nil
        } catch { return Failure(error) }
    }

    private func names() throws -> [Value] {
        try DatabaseFile(path: "memory", store: store).read { view, catalogue in
            let handle = try catalogue.requireTable("Patient")
            var names: [Value] = []
            try handle.scan(in: view) { key, row in
                names.append(handle.values(of: key, row)[1])
                return true
            }
            return names
        }
    }

    @Test func aTableWithEncryptedColumnsIsNotReplaced() throws {
        #expect(try failure("id,name,diagnosis\n1,Ada,\n", replaces: false) == nil)
        let refusal = try #require(try failure("id,name\n2,Bob\n", replaces: true))
        #expect(refusal.message.hasPrefix("column diagnosis of table Patient is encrypted"))
        #expect(refusal.status == .badInput)
        #expect(try names() == [.text("Ada")])
    }

    @Test func valuesOfEncryptedColumnsAreNotAppended() throws {
        let refusal = try #require(try failure("id,name,diagnosis\n1,Ada,x'00ff'\n", replaces: false))
        #expect(refusal.message.contains("column diagnosis is encrypted"))
        #expect(refusal.message.contains("leave it empty, or out of the file"))
        #expect(try names().isEmpty)
    }

    @Test func aDumpSaysWhatItLoses() {
        let text = SchemaText.statements(schema)
        #expect(text.hasSuffix("-- Patient.diagnosis is encrypted: its bytes can be decrypted in this database only\n"))
    }
}
