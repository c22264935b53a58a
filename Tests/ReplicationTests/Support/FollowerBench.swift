import MakoReplication
import MakoStorage
import MakoTestSupport
import Testing

/// A follower of a ledger on a disk of its own, and a reader of its file.
final class FollowerBench {
    static let path = "replica.mako"

    let ledger: Ledger
    let disk: SimulatedDisk
    var options: Follower.Options
    private(set) var follower: Follower?
    private var reader: Store?
    /// The newest commit that the reader saw.
    private(set) var seen: UInt64 = 0

    init(_ ledger: Ledger, disk: SimulatedDisk = SimulatedDisk(), seed: UInt64 = 5) {
        self.ledger = ledger
        self.disk = disk
        options = Follower.Options()
        options.store = Ledger.options(disk, seed: seed)
        options.store.encryption = ledger.options.encryption
        options.now = { 2_000_000 }
    }

    /// The running follower, or one that continues the file.
    func current() throws -> Follower {
        if let follower { return follower }
        let new = try Follower(ledger.place, at: FollowerBench.path, options: options)
        follower = new
        return new
    }

    /// Ends the process of the follower.
    func end() {
        reader = nil
        follower?.close()
        follower = nil
    }

    /// Follows until `commit` is there, and compares what a reader sees, and a new reader.
    @discardableResult
    func check(_ commit: UInt64) throws -> Follower.Report {
        let report = try current().follow()
        #expect(report.commit == commit)
        try checkReaders(commit)
        return report
    }

    func checkReaders(_ commit: UInt64) throws {
        let reader = try self.reader ?? open()
        self.reader = reader
        try reader.refresh()
        let number = try reader.read { $0.commitNumber }
        #expect(number == commit)
        #expect(number >= seen)
        seen = number
        #expect(try LedgerState(reading: reader) == ledger.states[commit], "commit \(commit)")
        let new = try open()
        defer { try? new.close() }
        #expect(try new.read { $0.commitNumber } == commit)
        #expect(try LedgerState(reading: new) == ledger.states[commit], "commit \(commit)")
    }

    func open() throws -> Store { try FollowerBench.open(disk, options.store) }

    static func open(_ disk: SimulatedDisk, _ options: StoreOptions) throws -> Store {
        var reading = options
        reading.fileSystem = disk
        reading.readOnly = true
        return try Store(at: path, options: reading)
    }

    /// Promotes the follower, which ends it.
    func promote() throws -> Store {
        var writing = options.store
        writing.logArchiveBytes = 1 << 20
        let store = try current().promote(options: writing)
        reader = nil
        follower = nil
        return store
    }
}
