import Foundation
import MakoStorage

/// The operations of a process on the database of a folder, and the rows that show that one was done.
enum Deed: String, CaseIterable {
    /// Opens the database, or creates it; commits one row, reports it, and closes.
    case write
    case compact
    /// Encrypts the database, or decrypts it.
    case key
    /// To a place that all backups of the folder have in common.
    case backup
    /// Makes the database of another one.
    case copy
    /// Makes the database of a backup.
    case restore
    /// Imports a table into the database, or creates it, by the program.
    case importing = "import"

    /// The row that marks the source of a database.
    var origin: UInt64? {
        switch self {
        case .copy: 2
        case .restore: 3
        default: nil
        }
    }
}

/// The files of one trial.
struct DeedFolder {
    let path: String
    /// The row of the database that is there at first.
    static let firstOrigin: UInt64 = 1
    static let secret = Encryption.key([UInt8](repeating: 7, count: 32))

    var database: String { path + "/s.mako" }
    var backup: String { path + "/b.mako" }
    var source: String { path + "/source.mako" }
    var base: String { path + "/base.mako" }
    /// The rows to import, and the key of an encrypted database.
    var rows: String { path + "/rows.csv" }
    var keyFile: String { path + "/key" }
    static let importedRows = 3
    /// Files of others with names that look alike.
    var strangers: [String] {
        ["s.mako-new", "s.mako-old", "s.mako-wal-notes.txt", "s.mako-new-1", "s.mako-salvage", "b.mako-new"].map {
            path + "/" + $0
        }
    }

    static func options(_ files: any FileSystem, _ encryption: Encryption? = nil, readOnly: Bool = false)
        -> StoreOptions
    {
        var options = StoreOptions()
        options.fileSystem = files
        options.background = .manual
        options.logSegmentBytes = 32 << 10
        options.cacheBytes = 1 << 20
        options.encryption = encryption
        options.readOnly = readOnly
        return options
    }

    /// Calls `body` with the options that the database opens with: another process may change the key at any moment.
    func eitherWay<R>(_ files: any FileSystem, readOnly: Bool = false, _ body: (StoreOptions) throws -> R) throws -> R {
        for _ in 0..<8 {
            do { return try body(DeedFolder.options(files, readOnly: readOnly)) } catch StorageError.encrypted {
                do {
                    return try body(DeedFolder.options(files, DeedFolder.secret, readOnly: readOnly))
                } catch StorageError
                    .notEncrypted
                {}
            }
        }
        throw StorageError.invalidArgument("the key changes all the time")
    }

    static func put(_ row: UInt64, into store: Store) throws {
        try store.write { transaction in
            let tree =
                try transaction.view.tree(named: "rows") ?? transaction.createTree(named: "rows", keys: .integer)
            try transaction.put([UInt8](repeating: UInt8(truncatingIfNeeded: row), count: 300), for: row, in: tree)
        }
    }

    /// Makes what a trial begins with.
    func prepare(isThere: Bool) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let files = POSIXFileSystem()
        for (file, origin) in [(source, Deed.copy.origin), (base, Deed.restore.origin), (database, isThere ? 1 : nil)] {
            guard let origin else { continue }
            let store = try Store(at: file == base ? base + "-origin" : file, options: DeedFolder.options(files))
            try DeedFolder.put(origin, into: store)
            if file == base { try store.backup(to: base) }
            try store.close()
        }
        try Data("id,name\n1,a\n2,b\n3,c\n".utf8).write(to: URL(fileURLWithPath: rows))
        try Data(repeating: 7, count: 32).write(to: URL(fileURLWithPath: keyFile))
        for stranger in strangers { try Data("another's".utf8).write(to: URL(fileURLWithPath: stranger)) }
    }
}

/// A process that makes each call when its parent permits it.
struct SteppedProcess {
    private let files = SteppedFiles()

    func run() throws -> Never {
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3, let deed = Deed(rawValue: words[0]), let row = UInt64(words[2]) else { exit(2) }
            do {
                try perform(deed, DeedFolder(path: words[1]), row)
                SteppedFiles.printLine("done")
            } catch {
                SteppedFiles.printLine("failed \(error)")
            }
        }
        exit(0)
    }

    private func perform(_ deed: Deed, _ folder: DeedFolder, _ row: UInt64) throws {
        switch deed {
        case .write:
            let store = try folder.eitherWay(files) { try Store(at: folder.database, options: $0) }
            try DeedFolder.put(row, into: store)
            SteppedFiles.printLine("acknowledged \(row)")
            try store.close()
        case .compact:
            _ = try folder.eitherWay(files) { try Store.compact(at: folder.database, options: $0) }
        case .key:
            _ = try folder.eitherWay(files) { options in
                let isEncrypted = options.encryption != nil
                return try Store.compact(
                    at: folder.database, options: options, encryption: isEncrypted ? nil : DeedFolder.secret)
            }
        case .backup:
            let store = try folder.eitherWay(files, readOnly: true) { try Store(at: folder.database, options: $0) }
            try store.backup(to: folder.backup)
            try store.close()
        case .copy:
            let store = try Store(at: folder.source, options: DeedFolder.options(files, readOnly: true))
            try store.copy(to: folder.database)
            try store.close()
        case .restore:
            try Store.restore(
                folder.base, applying: [], to: folder.database, options: DeedFolder.options(files))
        case .importing:
            try SteppedImport(folder: folder, row: row).run()
            SteppedFiles.printLine("acknowledged \(row)")
        }
    }
}
