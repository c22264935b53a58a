import MakoCore
import MakoStorage
import MakoTestSupport
import Testing

/// Objects in a database that opens with a key.
@Suite(.enabled(if: Encryption.isAvailable, "needs the trait Encryption")) struct EncryptedDatabaseTests {
    private static let path = "d/people.mako"

    private static func options(_ disk: SimulatedDisk, _ encryption: Encryption?) -> DatabaseOptions {
        var storage = StoreOptions()
        storage.fileSystem = disk
        return DatabaseOptions(encryption: encryption, storage: storage)
    }

    @Test func objectsAreReadWithTheirKeyOnly() throws {
        let disk = SimulatedDisk()
        let key = TestKeys.encryption(0)
        var db = try Database(at: Self.path, entities: [City.self], options: Self.options(disk, key))
        #expect(db.isEncrypted)
        try db.save(City(name: "Alexandroupolis"))
        try db.changeKey(to: TestKeys.encryption(1))
        try db.close()
        let bytes = try #require(disk.contents(of: Self.path))
        let name = Array("Alexandroupolis".utf8)
        #expect(!bytes.indices.dropLast(name.count).contains { bytes[$0..<$0 + name.count].elementsEqual(name) })
        #expect(throws: MakoError.storage(.wrongKey(path: Self.path, reason: "it is another key"))) {
            try Database(at: Self.path, options: Self.options(disk, key))
        }
        #expect(throws: MakoError.storage(.encrypted(path: Self.path))) {
            try Database(at: Self.path, options: Self.options(disk, nil))
        }
        db = try Database(at: Self.path, entities: [City.self], options: Self.options(disk, TestKeys.encryption(1)))
        #expect(try db.query(City.self).fetch().map(\.name) == ["Alexandroupolis"])
        try db.close()
        try Database.encrypt(at: Self.path, with: nil, options: Self.options(disk, TestKeys.encryption(1)))
        db = try Database(at: Self.path, entities: [City.self], options: Self.options(disk, nil))
        #expect(!db.isEncrypted)
        #expect(try db.query(City.self).fetch().map(\.name) == ["Alexandroupolis"])
        #expect(throws: MakoError.storage(.notEncrypted(path: Self.path))) { try db.changeKey(to: key) }
        try db.close()
    }
}
