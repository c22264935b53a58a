import MakoStorage
import MakoTestSupport
import Testing

@testable import MakoReplication

/// Damaged, truncated, exchanged and missing objects.
@Suite struct DamagedObjectTests {
    /// Ships a backup, frames, an incremental backup and frames again.
    private func shipped(_ seed: UInt64) throws -> (Ledger, [String: [UInt8]]) {
        let ledger = try Ledger(seed: seed)
        let replicator = try ledger.replicator()
        try ledger.commit(.small)
        try replicator.ship()
        try ledger.commit(.small)
        try replicator.ship()
        try ledger.commit(.many)
        try replicator.ship()
        try ledger.commit(.small)
        try replicator.ship()
        return (ledger, ledger.objects.objects)
    }

    /// Restores a commit. Returns whether the restore fails; a successful one must equal the model.
    private func isRefused(_ ledger: Ledger, _ commit: UInt64) throws -> Bool {
        do {
            #expect(try ledger.restored(commit) == ledger.states[commit])
            return false
        } catch is ReplicationError { return true }
    }

    @Test func everyFlippedBitOfASmallObjectIsRefused() throws {
        let (ledger, objects) = try shipped(41)
        let newest = try ledger.commitNumber()
        for name in objects.keys.sorted() where name.contains("/seq/") {
            let bytes = try #require(objects[name])
            let header = try #require(SequenceHeader(Array(bytes.prefix(SequenceHeader.bytes))))
            // A sample of bits for the incremental backup, which has many pages.
            let step = header.kind == .part ? 1009 : 1
            for bit in stride(from: 0, to: bytes.count * 8, by: step) {
                var damaged = bytes
                damaged[bit / 8] ^= 1 << UInt8(bit % 8)
                // The header's checksum covers the header, its digest the content.
                let found = SequenceHeader(Array(damaged.prefix(SequenceHeader.bytes)))
                if bit < SequenceHeader.bytes * 8 {
                    #expect(found == nil, "bit \(bit) of \(name)")
                } else {
                    #expect(Digest.of(Array(damaged.dropFirst(SequenceHeader.bytes))) != header.digest)
                }
                guard bit % 97 == 0 else { continue }
                ledger.objects.objects[name] = damaged
                let isNeeded = header.kind != .frames || header.after.commit == newest
                let refused = try isRefused(ledger, newest)
                #expect(refused || !isNeeded, "bit \(bit) of \(name)")
                ledger.objects.objects[name] = bytes
            }
        }
    }

    @Test func truncatedObjectsAreRefused() throws {
        let (ledger, objects) = try shipped(42)
        let newest = try ledger.commitNumber()
        for name in objects.keys.sorted() where name.contains("/seq/") || name.contains("/full/") {
            let bytes = try #require(objects[name])
            let header = SequenceHeader(Array(bytes.prefix(SequenceHeader.bytes)))
            // The frames between the backups lead to no commit that is restored here.
            let isNeeded = header?.kind != .frames || header?.after.commit == newest
            for count in [0, 1, 100, 256, bytes.count / 2, bytes.count - 1] where count < bytes.count {
                ledger.objects.objects[name] = Array(bytes.prefix(count))
                #expect(try isRefused(ledger, newest) == isNeeded, "\(count) bytes of \(name)")
            }
            ledger.objects.objects[name] = bytes
        }
        #expect(try !isRefused(ledger, newest))
    }

    @Test func aMissingObjectIsAGapUntilTheNextBackup() throws {
        let (ledger, objects) = try shipped(43)
        let sequence = objects.keys.filter { $0.contains("/seq/") }.sorted()
        let first = try #require(objects[sequence[1]].flatMap { SequenceHeader(Array($0.prefix(256))) })
        #expect(first.kind == .frames)
        ledger.objects.objects[sequence[1]] = nil
        let points = try ledger.replica.restorePoints()[0]
        #expect(!points.findings.isEmpty)
        #expect(!points.contains(first.after.commit))
        #expect(points.gaps.contains { $0.contains(first.after.commit) })
        // The incremental backup builds on the full one, and leads on.
        let newest = try ledger.commitNumber()
        #expect(points.newest == newest)
        #expect(try ledger.restored(newest) == ledger.state)
    }

    /// Behind missing frames there are others, and no backup.
    @Test func framesBehindAGapLeadNowhere() throws {
        let ledger = try Ledger(seed: 48)
        let replicator = try ledger.replicator()
        for _ in 0..<5 {
            try ledger.commit(.small)
            try replicator.ship()
        }
        let sequence = ledger.objects.names.filter { $0.contains("/seq/") }.sorted()
        let headers = sequence.compactMap { name in
            SequenceHeader(Array((ledger.objects.objects[name] ?? []).prefix(SequenceHeader.bytes)))
        }
        try #require(headers.suffix(4).allSatisfy { $0.kind == .frames })
        ledger.objects.objects[sequence[sequence.count - 3]] = nil
        let last = headers[headers.count - 4].after.commit
        let newest = try ledger.commitNumber()
        let points = try ledger.replica.restorePoints()[0]
        #expect(points.newest == last)
        for commit in last + 1...newest {
            #expect(!points.contains(commit))
            #expect(throws: ReplicationError.self) { try ledger.restored(commit) }
        }
        #expect(try ledger.restored(last) == ledger.states[last])
    }

    /// The report of restoring a commit into a new file.
    private func report(_ ledger: Ledger, _ commit: UInt64) throws -> RestoreReport {
        let options = Ledger.options(MemoryFileSystem(), seed: 5)
        return try ledger.replica.restore(to: "restored.mako", at: commit, beginsBranch: false, options: options)
    }

    /// One backup or all behind the first are missing, or damaged in their headers or contents.
    @Test(arguments: [nil, 20, 2000] as [Int?], [1, 2]) func framesLeadPastDamagedBackups(byte: Int?, count: Int) throws
    {
        let ledger = try Ledger.withBackups(seed: 47)
        let newest = try ledger.commitNumber()
        let whole = ledger.objects.objects
        let backups = try ledger.backups(byte: byte).dropFirst()
        try #require(backups.count == 2)
        let names = backups.suffix(count)
        ledger.damage(names, byte: byte)
        #expect(try ledger.replica.restorePoints()[0].gaps == [])
        for commit in newest - 2...newest {
            #expect(try ledger.restored(commit) == ledger.states[commit])
        }
        let findings = try report(ledger, newest).findings
        // An incremental backup is not read where its base is damaged.
        #expect(names.contains { name in findings.contains { $0.contains(name) } }, "\(findings)")
        // Frames are needed where the backups behind them are gone, and the error names what is damaged.
        let frames = try #require(whole.keys.filter { $0.contains("/seq/") }.sorted().last)
        ledger.objects.objects[frames]?[SequenceHeader.bytes + 9] ^= 1
        #expect(throws: ReplicationError.self) { try report(ledger, newest) }
        ledger.objects.objects = whole
        #expect(try report(ledger, newest).findings == [])
    }

    @Test func exchangedObjectsAreRefused() throws {
        let (ledger, objects) = try shipped(44)
        let (other, others) = try shipped(45)
        let newest = try ledger.commitNumber()
        let own = objects.keys.filter { $0.contains("/seq/") }.sorted()
        let foreign = others.keys.filter { $0.contains("/seq/") }.sorted()
        for (name, from) in zip(own, foreign) {
            ledger.objects.objects[name] = others[from]
            _ = try isRefused(ledger, newest)
            ledger.objects.objects[name] = objects[name]
        }
        for name in own.dropFirst() {
            ledger.objects.objects[name] = objects[own[0]]
            _ = try isRefused(ledger, newest)
            ledger.objects.objects[name] = objects[name]
        }
        #expect(try !isRefused(ledger, newest))
        #expect(try other.restored(nil) == other.state)
    }

    @Test func aLostHintOrALateListingChangesNothing() throws {
        let ledger = try Ledger(seed: 46)
        var replicator = try ledger.replicator()
        for round in 0..<70 {
            try ledger.commit(.small)
            try replicator.ship()
            if round % 10 == 9 {
                ledger.objects.lateNames = round
                replicator = try ledger.replicator()
                ledger.objects.lateNames = round % 4
            }
        }
        let newest = try ledger.commitNumber()
        let head = try #require(ledger.objects.names.first { $0.hasSuffix("/head") })
        for damage in [nil, [], [1, 2, 3], ledger.objects.objects[head]?.reversed()] as [[UInt8]?] {
            ledger.objects.objects[head] = damage
            ledger.objects.lateNames = 5
            #expect(try ledger.replica.restorePoints()[0].newest == newest)
            try ledger.replicator().ship()
        }
        #expect(try ledger.restored(nil) == ledger.state)
    }
}

extension Ledger {
    /// The names of the objects in which the backups have a byte, in order; without a byte, their headers.
    func backups(byte: Int?) throws -> [String] {
        let database = ReplicaNames(prefix: "", database: try replica.databases()[0])
        return objects.objects.keys.filter { $0.contains("/seq/") }.sorted().compactMap { name in
            let header = SequenceHeader(Array((objects.objects[name] ?? []).prefix(SequenceHeader.bytes)))
            guard let header, header.kind != .frames else { return nil }
            let isContent = header.kind == .full && (byte ?? 0) >= SequenceHeader.bytes
            return isContent ? database.full(1, header.after.commit, digest: header.digest) : name
        }
    }
}
