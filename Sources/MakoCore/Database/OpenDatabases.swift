import Foundation
import MakoRecords
import MakoStorage

/// The database files that this process has open for writing. Opening a file again with the same options returns the
/// same database.
enum OpenDatabases {
    private enum Entry {
        /// A thread is opening it.
        case opening(ObjectIdentifier)
        /// Open until its database has closed. A nil database is being released and has not freed the file yet.
        case open(Held)
    }
    private struct Held {
        weak var database: Database?
        let number: UInt32
    }

    private static let entries = Guarded<[TextKey: Entry]>([:])
    private static let changed = NSCondition()

    /// The open database of a file, otherwise the one that a closure opens.
    ///
    /// - Throws: `MakoError.alreadyOpen` when it is open with other options.
    static func database(
        at path: String, _ options: DatabaseOptions, opening: (String) throws(MakoError) -> Database
    ) throws(MakoError) -> (database: Database, isShared: Bool) {
        let file = TextKey(place(of: path))
        while true {
            switch claim(file) {
            case nil: break
            case .opening(let thread)?:
                // A closure of the options or of a migration opens the file again: waiting would deadlock.
                if thread == ObjectIdentifier(Thread.current) { throw .alreadyOpen(path: path) }
                wait(while: { if case .opening = $0 { true } else { false } }, file)
                continue
            case .open(let held)?:
                guard let database = held.database else {
                    wait(while: { if case .open(let held) = $0 { held.database == nil } else { false } }, file)
                    continue
                }
                guard options.canShare(database.options) else { throw .alreadyOpen(path: path) }
                if database.share() { return (database, true) }
                wait(while: { if case .open(let held) = $0 { held.database === database } else { false } }, file)
                continue
            }
            do throws(MakoError) {
                let database = try opening(file.text)
                change(file, .open(Held(database: database, number: database.number)))
                return (database, false)
            } catch {
                change(file, nil)
                throw error
            }
        }
    }

    /// Claims the opening of a file; returns the entry when there is one.
    private static func claim(_ file: TextKey) -> Entry? {
        entries.withLock { entries in
            if let entry = entries[file] { return entry }
            entries[file] = .opening(ObjectIdentifier(Thread.current))
            return nil
        }
    }

    private static func change(_ file: TextKey, _ entry: Entry?) {
        entries.withLock { $0[file] = entry }
        notify()
    }

    private static func notify() {
        changed.lock()
        changed.broadcast()
        changed.unlock()
    }

    private static func wait(while isThere: (Entry) -> Bool, _ file: TextKey) {
        changed.lock()
        while let entry = entries.withLock({ $0[file] }), isThere(entry) { changed.wait() }
        changed.unlock()
    }

    /// Frees the file of a closed database.
    static func closed(_ file: String, _ number: UInt32) {
        let file = TextKey(file)
        entries.withLock { entries in
            if case .open(let held)? = entries[file], held.number == number { entries[file] = nil }
        }
        notify()
    }

    /// One name for a file, whatever path leads to it. The file need not exist yet.
    ///
    /// The name includes the fork generation: a child does not share its parent's databases.
    private static func place(of path: String) -> String {
        let files = POSIXFileSystem()
        return "\(Forks.generation) \(files.canonical((try? files.target(of: path)) ?? path))"
    }
}

extension DatabaseOptions {
    /// Whether the database is registered so that it can be shared. Read-only databases need no registration, and a
    /// test's file system has its own names.
    var isNoted: Bool { !readOnly && storage.fileSystem is POSIXFileSystem }

    /// Whether a database open with `other` options serves a request with these. Keys and handlers cannot be compared:
    /// options with them never match.
    func canShare(_ other: DatabaseOptions) -> Bool {
        isComparable && other.isComparable && values == other.values
    }

    private var isComparable: Bool {
        encryption == nil && storage.encryption == nil && propertyKey == nil && onSlowQuery == nil
            && onMigration == nil && storage.eventHandler == nil && storage.clock == nil
            && storage.entropy is SystemEntropy
    }

    private var values: [AnyHashable] {
        [
            durability, cacheBytes, dropsRetired, writerTimeout, tableNaming, slowQueryThreshold, history, fileLocking,
            storage.background,
            storage.logSegmentBytes, storage.logArchiveBytes, storage.checkpointBytes,
            storage.shrinksWhenIdle, storage.diskReserveBytes,
            storage.snapshotAgeLimit, storage.statisticsInterval, storage.queryMemoryBytes, storage.queryThreads,
            storage.fileProtection, storage.isExcludedFromBackup,
        ]
    }
}

/// Lets an initialiser return an existing object.
protocol MadeElsewhere {}

extension MadeElsewhere {
    init(taking object: Self) { self = object }
}
