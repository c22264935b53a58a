import Foundation
import GRDB

extension DatabasePool {
    /// The settings of SQLite in every case, except that a pool needs the shared lock table and sets WAL by itself.
    convenience init(directory: String, durability: SyncMode) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            for setting in ["cache_size = -1048576", "mmap_size = 2147418112", "temp_store = MEMORY"] {
                try database.execute(sql: "PRAGMA \(setting)")
            }
        }
        try self.init(path: directory + "/data.sqlite", configuration: configuration)
        try writeWithoutTransaction { database in
            // After opening, because the pool itself chooses NORMAL.
            let mode = durability == .full ? 2 : 1
            try database.execute(sql: "PRAGMA synchronous = \(mode)")
            guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == mode else {
                throw BenchmarkError("GRDB does not flush as it should")
            }
        }
    }

    /// Checkpoints the log into the file, from which the memory map serves it.
    func settle() throws {
        try writeWithoutTransaction { database in _ = try database.checkpoint(.truncate) }
    }

    /// - Parameter schema: for a new file.
    convenience init(directory: String, schema: [String], durability: SyncMode) throws {
        let isNew = !FileManager.default.fileExists(atPath: directory + "/data.sqlite")
        try self.init(directory: directory, durability: durability)
        if isNew { try write { database in for statement in schema { try database.execute(sql: statement) } } }
    }
}
