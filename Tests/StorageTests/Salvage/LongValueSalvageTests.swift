import MakoTestSupport
import Testing

@testable import MakoStorage

/// Values on lists of pages, and the log that names them, in a database that is damaged.
@Suite struct LongValueSalvageTests {
    private static let text = """
        options log 16384
        tree t int
        stream t 1..6 30000b
        put t 10..200 90b
        tree u bytes
        stream u 1..6 30000b
        put u 10..200 90b
        checkpoint
        stream t 2 31000b
        stream u 2 31000b
        checkpoint
        """

    /// Without the nodes above them, leaves are found where they lie, and the long values with them.
    @Test(arguments: [true, false]) func longValuesAreFoundWithoutTheirRoots(loseTables: Bool) throws {
        let sample = try SalvageSample(closing: true, Self.text)
        let layout = try sample.layout()
        let pages = layout.roots + layout.inner + (loseTables ? layout.directory + [6, 7, 8] : [])
        let outcome = try SalvageSample.salvage(sample.damaged(Set(pages)))
        let names = Dictionary(
            uniqueKeysWithValues: outcome.report.trees.map { ($0.name, $0.number == 1 ? "t" : "u") })
        #expect(sample.strangers(in: outcome.found, among: sample.states, names: names).isEmpty)
        for tree in outcome.report.trees {
            let wanted = try #require(sample.latest.trees[tree.number == 1 ? "t" : "u"])
            let found = try #require(outcome.found.trees[tree.name])
            let lost = wanted.entries.filter { found[$0.0] == nil }
            #expect(lost.isEmpty, "\(tree.name): \(lost.map(\.0))")
        }
        #expect(outcome.report.trees.count == 2)
    }

    /// A page of a value that the device refuses: the rest comes back.
    @Test func pagesThatCannotBeReadAreLost() throws {
        let sample = try SalvageSample(closing: true, Self.text)
        let layout = try sample.layout()
        let leaf = try #require(layout.leaves.last)
        let lost = layout.places.filter { $0.pages[0] == leaf }
        let disk = SimulatedDisk(sample.damaged(layout.roots))
        let files = MeddledDisk(disk)
        let bad = UInt64(leaf * pageBytes)..<UInt64((leaf + 1) * pageBytes)
        files.meddle { (call, path, bytes) throws(FileError) in
            guard call == .read, path == SalvageSample.path, bytes.overlaps(bad) else { return }
            throw FileError(operation: "read", path: path, code: 5)
        }
        let options = SalvageSample.options(files)
        let report = try Store.salvage(from: SalvageSample.path, to: SalvageSample.target, options: options)
        #expect(!report.isComplete && !lost.isEmpty)
        let found = try Store(at: SalvageSample.target, options: options).read { try ModelStore(reading: $0) }
        for place in layout.places {
            let isLost = place.pages[0] == leaf
            let value = found.trees[place.tree]?[place.key]
            #expect(isLost ? value == nil : value == sample.latest.trees[place.tree]?[place.key], "\(place.key)")
        }
    }

    /// A list under a right checksum that no program writes: its value is lost, and the others are not.
    @Test func aListThatContradictsItselfLosesItsValue() throws {
        let sample = try SalvageSample(closing: true, Self.text)
        let place = try #require(
            try sample.layout().places.first { $0.tree == "u" && $0.key == .bytes(ScriptRun.bytes(3, length: 0)) })
        let broken = sample.changing([place.pages[1]]) { page in
            // The length is another than that of the bytes on its pages.
            page.storeBytes(of: 12_345, toByteOffset: Page.bodyOffset, as: UInt64.self)
        }
        let outcome = try SalvageSample.salvage(broken.image)
        var expected = sample.latest
        _ = expected.delete(place.key, in: "u")
        #expect(outcome.found.difference(from: expected) == nil)
        #expect(!outcome.report.isComplete)
        let store = try Store(at: SalvageSample.path, options: SalvageSample.options(SimulatedDisk(broken.image)))
        #expect(try store.verify().isClean == false)
    }

    // MARK: The log

    /// Both meta pages and the log are lost, though the header names a log: the loss is reported, and the trees are
    /// recovered.
    @Test func aLogThatIsGoneIsReported() throws {
        let sample = try SalvageSample(closing: false, Self.text + "\nput t 300 20b\n")
        var image = sample.damaged(2..<6)
        for name in image.files.keys where name.contains("-wal-") { image.files[name] = nil }
        let outcome = try SalvageSample.salvage(image)
        #expect(outcome.report.logFailure?.contains("was in use, and there is none") == true)
        #expect(outcome.report.logCommits == 0 && !outcome.report.isCertain)
        #expect(sample.strangers(in: outcome.found, among: sample.states).isEmpty)
    }

    /// Changes the runs that the log names, under right checksums.
    private func forged(_ sample: SalvageSample, _ change: (inout [UInt8], _ list: Int) -> Void) throws -> DiskImage {
        var image = sample.image
        var changed = 0
        try Forger(of: image).changeLog(of: &image) { frame in
            let payload = LogFrame.headerBytes
            guard frame.count > payload + 20, frame[payload] == Operation.putIntegerRuns.rawValue else { return }
            // The operation, the tree, the key, the length of the list.
            change(&frame, payload + 1 + 4 + 8 + 4)
            changed += 1
        }
        #expect(changed == 1)
        return image
    }

    /// A packed value whose length in the log is another than what it unpacks to: its key has none then.
    @Test func aPackedValueThatDoesNotUnpackIsLeftOut() throws {
        let sample = try SalvageSample(
            closing: false, "options log 16384\ntree t int\nput t 1..5 50b\ncheckpoint\nput t 3 60000z")
        let image = try forged(sample) { (frame, list) in frame[list] ^= 1 }
        let outcome = try SalvageSample.salvage(image)
        var expected = sample.latest
        _ = expected.delete(.integer(3), in: "t")
        #expect(outcome.found.difference(from: expected) == nil)
    }

    /// An operation for a key that is longer than any: the log is damaged, or the operation is left out.
    @Test func aKeyThatIsTooLongStopsRecovery() throws {
        let sample = try SalvageSample(
            closing: false,
            """
            options log 16384
            tree t int
            tree u bytes
            put u 1..5 50b
            checkpoint
            stream u 3 30000b
            put u 4 1500b
            """)
        var image = sample.image
        var list: [UInt8] = []
        var changed = 0
        try Forger(of: image).changeLog(of: &image) { frame in
            let start = LogFrame.headerBytes
            guard frame.count > start + 20 else { return }
            let keyBytes = Int(frame[start + 5])
            if frame[start] == Operation.putBytesRuns.rawValue {
                list = Array(
                    frame[(start + 11 + keyBytes)...].prefix(ValueExtents.headerBytes + ValueExtents.runBytes * 8))
                let count = Int(frame[start + 7 + keyBytes]) | Int(frame[start + 8 + keyBytes]) << 8
                list = Array(list.prefix(count))
            } else if frame[start] == Operation.putBytes.rawValue, frame.count > start + 1400, !list.isEmpty {
                // The value's bytes become a key of a thousand, the list, and another operation that fills up the rest.
                var bytes = [Operation.putBytesRuns.rawValue] + frame[start + 1..<start + 5] + [0xe8, 0x03]
                bytes += [UInt8](repeating: 0x61, count: 1000) + [UInt8(list.count), 0, 0, 0] + list
                let left = frame.count - start - bytes.count - 12
                bytes += [Operation.putBytes.rawValue] + frame[start + 1..<start + 5] + [1, 0, 0x62]
                bytes += [UInt8(left & 0xff), UInt8(left >> 8), 0, 0] + [UInt8](repeating: 5, count: left)
                frame.replaceSubrange(start..., with: bytes)
                changed += 1
            }
        }
        #expect(changed == 1)
        let error = #expect(throws: StorageError.self) {
            _ = try Store(at: SalvageSample.path, options: SalvageSample.options(SimulatedDisk(image)))
        }
        if case .logDamaged? = error {} else { Issue.record("\(String(describing: error))") }
        let outcome = try SalvageSample.salvage(image)
        #expect(outcome.found.trees["u"]?[.bytes(ScriptRun.bytes(3, length: 0))]?.count == 30_000)
        #expect(outcome.found.trees["u"]?.count == 6)
    }
}
