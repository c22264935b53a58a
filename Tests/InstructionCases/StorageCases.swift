import Foundation
import Mako
import MakoStorage

extension InstructionCase {
    /// Files, trees and key-value stores.
    static let storage = [
        InstructionCase("open", 10) { place in
            let path = place.path("open.mako")
            try place.stocked(at: path).close()
            return { _ in
                let db = try Database(at: path, entities: Place.entities, options: Place.options)
                try expect(try db.query(Shop.self).count(), 10)
                try db.close()
            }
        },
        InstructionCase("get", 20_000) { _ in
            let (store, tree) = try filled()
            let snapshot = try store.snapshot()
            return { number in
                try expect(try snapshot.withValue(of: UInt64(number % 1000), in: tree) { $0.count }, 100)
            }
        },
        InstructionCase("put-commit", 1000) { _ in
            let (store, tree) = try filled()
            let value = [UInt8](repeating: 7, count: 100)
            return { number in
                try store.write { transaction in try transaction.put(value, for: UInt64(number % 1000), in: tree) }
            }
        },
        InstructionCase("scan-1000", 200) { _ in
            let (store, tree) = try filled()
            let snapshot = try store.snapshot()
            return { _ in
                var bytes = 0
                try snapshot.forEach(in: tree, from: 0) { _, value in
                    bytes += value.count
                    return true
                }
                try expect(bytes, 100_000)
            }
        },
        InstructionCase("backup", 10) { place in
            let db = try place.stocked(at: place.path("source.mako"))
            return { number in
                try expect(try db.backup(to: place.path("copy-\(number).mako")).bytes > 10_000, true)
            }
        },
        InstructionCase("store-put", 200) { _ in
            let db = try Database.inMemory(options: Place.options)
            let notes = try db.store("notes")
            return { number in try notes.set("note \(number)", for: "key \(number % 50)") }
        },
        InstructionCase("store-get", 1000) { _ in
            let db = try Database.inMemory(options: Place.options)
            let notes = try db.store("notes")
            for number in 0..<50 { try notes.set("note \(number)", for: "key \(number)") }
            return { number in
                try expect(try notes.value(String.self, for: "key \(number % 50)"), "note \(number % 50)")
            }
        },
    ]

    /// A store in memory, and its tree of a thousand values of a hundred bytes.
    private static func filled() throws -> (Store, Tree) {
        let store = try Store.inMemory(options: Place.options.storage)
        let tree = try store.write { transaction in
            let tree = try transaction.createTree(named: "values", keys: .integer)
            for key in 0..<1000 {
                try transaction.put([UInt8](repeating: UInt8(key % 256), count: 100), for: UInt64(key), in: tree)
            }
            return tree
        }
        return (store, tree)
    }
}
