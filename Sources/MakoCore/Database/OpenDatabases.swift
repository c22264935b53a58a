import Foundation
import MakoRecords
import MakoStorage

/// The database files that this process has open for writing. One of them is opened once: who opens it again, with the same options, gets
/// the same database.
enum OpenDatabases {
    private enum Entry {
        /// Being opened by a thread.
        case opening(ObjectIdentifier)
        /// Open until its database has closed; nil inside: that is going away, and has not given the file back yet.
        case open(Held)
    }
    private struct Held {
        weak var database: Database?
        let number: UInt32
    }

    private static let entries = Protected<[TextKey: Entry]>([:])
    private static let changed = NSCondition()

    /// The open database of a file, else the one that a closure opens.
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
                // Waiting for oneself would take for ever: a closure of the options or of a migration is running.
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

    /// Somebody's own opening, or what is there.
    private static func claim(_ file: TextKey) -> Entry? {
        entries.with { entries in
            if let entry = entries[file] { return entry }
            entries[file] = .opening(ObjectIdentifier(Thread.current))
            return nil
        }
    }

    private static func change(_ file: TextKey, _ entry: Entry?) {
        entries.with { $0[file] = entry }
        tell()
    }

    private static func tell() {
        changed.lock()
        changed.broadcast()
        changed.unlock()
    }

    private static func wait(while isThere: (Entry) -> Bool, _ file: TextKey) {
        changed.lock()
        while let entry = entries.with({ $0[file] }), isThere(entry) { changed.wait() }
        changed.unlock()
    }

    /// A database has given its file back.
    static func closed(_ file: String, _ number: UInt32) {
        let file = TextKey(file)
        entries.with { entries in
            if case .open(let held)? = entries[file], held.number == number { entries[file] = nil }
        }
        tell()
    }

    /// One name for a file, whatever way leads to it. The file itself may not be there yet.
    ///
    /// The child of a fork has names of its own: what the parent has open is not the child's to share.
    private static func place(of path: String) -> String {
        let target = (try? POSIXFileSystem().target(of: path)) ?? path
        let url = URL(fileURLWithPath: target)
        let directory = url.deletingLastPathComponent().resolvingSymlinksInPath()
        return "\(Forks.generation) \(directory.appendingPathComponent(url.lastPathComponent).path)"
    }
}

extension DatabaseOptions {
    /// Whether opening with these options is noted, so that others may share the database. Readers disturb nobody, and a file system of a
    /// test's own has names of its own.
    var isNoted: Bool { !readOnly && storage.fileSystem is POSIXFileSystem }

    /// Whether a database that is open with others is what these ask for. Keys and handlers cannot be compared: with them it never is.
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
            durability, cacheBytes, dropsRetired, writerTimeout, tableNaming, slowQueryThreshold, history,
            storage.background,
            storage.logSegmentBytes, storage.checkpointBytes, storage.shrinksWhenIdle, storage.diskReserveBytes,
            storage.snapshotAgeLimit, storage.statisticsInterval, storage.queryMemoryBytes, storage.queryThreads,
            storage.fileProtection, storage.isExcludedFromBackup,
        ]
    }
}

/// Lets an initialiser answer an object that is there already.
protocol MadeElsewhere {}

extension MadeElsewhere {
    init(taking object: Self) { self = object }
}
