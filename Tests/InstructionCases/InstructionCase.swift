import Foundation
import Mako

/// A short piece of work whose instructions are counted.
struct InstructionCase: Sendable {
    let name: String
    /// So many that the work outweighs what varies from run to run, and few enough for a simulated processor.
    let repetitions: Int
    /// Makes the data, and returns what one repetition runs, by its number from 1 on.
    let prepare: @Sendable (Place) throws -> (Int) throws -> Void

    init(_ name: String, _ repetitions: Int, _ prepare: @escaping @Sendable (Place) throws -> (Int) throws -> Void) {
        self.name = name
        self.repetitions = repetitions
        self.prepare = prepare
    }

    static let all = storage + queries + statements + objects
}

/// A case that found something else than it should.
struct WrongResult: Error, CustomStringConvertible {
    let description: String
}

/// - Throws: ``WrongResult`` if the values differ, so that no case becomes cheaper by finding nothing.
func expect<T: Equatable>(_ found: T, _ expected: T) throws {
    if found != expected { throw WrongResult(description: "\(found) instead of \(expected)") }
}

/// The databases of one run, and a folder for those in files.
struct Place {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("mako-instructions-\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    /// Without background threads, whose turns are not the same in each run, and with commits that do not sync.
    static var options: DatabaseOptions {
        var options = DatabaseOptions(durability: .ordered, cacheBytes: 16 << 20)
        options.storage.background = .manual
        options.storage.durability = .ordered
        return options
    }

    /// A database in memory with a thousand goods of ten shops.
    func stocked() throws -> Database {
        let db = try Database.inMemory(entities: Self.entities, options: Self.options)
        try Self.stock(db)
        return db
    }

    /// A database in a file with the same rows.
    func stocked(at path: String) throws -> Database {
        let db = try Database(at: path, entities: Self.entities, options: Self.options)
        try Self.stock(db)
        return db
    }

    static let entities: [any Entity.Type] = [Shop.self, Ware.self, Note.self, Basket.self, Setting.self]

    private static func stock(_ db: Database) throws {
        let shops = (0..<10).map { Shop(name: "shop \($0)", zone: $0 % 3) }
        try db.save(shops)
        let wares = (0..<1000).map { number in
            Ware(
                name: "ware \(number)", code: number, kind: number % 10, price: Double(number) / 4,
                shop: shops[number % 10])
        }
        try db.save(wares)
    }
}

@Entity final class Shop {
    var name = ""
    var zone = 0
}

@Entity final class Ware {
    #Index<Ware>([\.code], [\.kind, \.price])
    var name = ""
    var code = 0
    var kind = 0
    var price = 0.0
    var shop: Shop?
}

@Entity final class Note {
    @Attribute(.fullText) var text = ""
}

@Entity final class Basket {
    var wares: [Ware] = []
}

@Entity final class Setting {
    var name = ""
    var values: [String: Int] = [:]
}
