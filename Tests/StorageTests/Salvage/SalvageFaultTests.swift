import MakoStorage
import MakoTestSupport
import Testing

/// A salvage on a disk that fails, that is full, or where others are busy: a typed error, or what can be read; never a half.
@Suite struct SalvageFaultTests {
    private static let text = """
        options log 32768
        tree t int
        put t 1..300 90b
        tree u bytes
        put u 1..200 50b
        checkpoint
        put t 40..90 60b
        put t 1000 9000b
        delete u 20..42
        checkpoint
        put t 1..300/3 90b
        """

    /// What is lost: nothing, the header, or the pages that connect the trees.
    private enum Loss: CaseIterable { case nothing, header, tables, roots }

    private func damaged(_ sample: SalvageSample, _ loss: Loss) throws -> DiskImage {
        switch loss {
        case .nothing: sample.image
        case .header: sample.damaged(0..<2)
        case .tables: sample.damaged(2..<9)
        case .roots: sample.damaged(try sample.layout().roots + [6, 7, 8])
        }
    }

    /// Each call fails in turn, the second read of a page too. Nothing is recovered that never was.
    @Test(arguments: [true, false]) func anyCallMayFail(closing: Bool) throws {
        let sample = try SalvageSample(closing: closing, Self.text)
        for loss in Loss.allCases where !closing || loss != .header {
            let image = try damaged(sample, loss)
            let whole = SimulatedDisk(image)
            _ = try SalvageSample.salvage(image, on: whole)
            let reads = whole.callLog.indices.filter {
                whole.callLog[$0] == .read || whole.callLog[$0] == .list || whole.callLog[$0] == .size
            }
            var notified = 0
            for call in reads where TestEffort.isFull || reads.count < 200 || call % 3 == 0 {
                let disk = SimulatedDisk(image)
                disk.inject(.inputOutput, atCall: call)
                let found: SalvageSample.Outcome
                do { found = try SalvageSample.salvage(image, on: disk) } catch is StorageError {
                    notified += 1
                    let left = disk.settledImage().files.keys.filter { image.files[$0] == nil }
                    #expect(left.isEmpty, "\(loss), call \(call): \(left)")
                    continue
                }
                let names = found.report.trees.map { ($0.name, $0.number == 1 ? "t" : "u") }
                let strangers = sample.strangers(
                    in: found.found, among: sample.states, names: Dictionary(uniqueKeysWithValues: names))
                #expect(strangers.isEmpty, "\(loss), call \(call): \(strangers.prefix(3))")
            }
            #expect(notified < reads.count, "\(loss)")
        }
    }

    /// The identity can be read nowhere, and listing the log fails.
    @Test func aLostIdentityIsReported() throws {
        let sample = try SalvageSample(closing: false, Self.text)
        let image = sample.damaged(0..<2)
        let whole = SimulatedDisk(image)
        _ = try SalvageSample.salvage(image, on: whole)
        let list = try #require(whole.callLog.firstIndex(of: .list))
        let disk = SimulatedDisk(image)
        disk.inject(.inputOutput, atCall: list)
        #expect(throws: StorageError.identityLost(path: SalvageSample.path)) {
            try SalvageSample.salvage(image, on: disk)
        }
    }

    /// A closed database without its header: whichever page cannot be read besides, it is still known for one.
    @Test func aDatabaseWithoutIdentityIsKnownForOne() throws {
        let sample = try SalvageSample(closing: true, Self.text)
        let image = sample.damaged(0..<2)
        let whole = SimulatedDisk(image)
        #expect(throws: StorageError.identityLost(path: SalvageSample.path)) {
            try SalvageSample.salvage(image, on: whole)
        }
        for call in whole.callLog.indices where whole.callLog[call] == .read {
            let disk = SimulatedDisk(image)
            disk.inject(.inputOutput, atCall: call)
            #expect(throws: StorageError.identityLost(path: SalvageSample.path), "call \(call)") {
                try SalvageSample.salvage(image, on: disk)
            }
        }
    }

    @Test func twoDoNotSalvageToTheSamePlace() throws {
        let sample = try SalvageSample(closing: true, Self.text)
        let disk = SimulatedDisk(sample.image)
        let other = try Salvage(
            from: SalvageSample.path, to: SalvageSample.target, options: SalvageSample.options(disk), progress: { _ in }
        )
        _ = try other.run()
        _ = try Store.salvage(
            from: SalvageSample.path, to: SalvageSample.target, options: SalvageSample.options(disk))
        let made = disk.contents(of: SalvageSample.target)
        do throws(StorageError) {
            try other.finish()
            Issue.record("the file of the first one was replaced")
        } catch {
            #expect("\(error)".contains("exists already"))
            _ = other.abandon()
        }
        #expect(disk.contents(of: SalvageSample.target) == made)
        #expect(
            try disk.list(directory: FilePath.directory(of: SalvageSample.target)).allSatisfy { !$0.contains("-new-") })
    }

    /// The log of the new database is small, so that space runs out in the middle of the damaged one's.
    @Test func theDiskMayBeFullInTheMiddleOfTheLog() throws {
        let sample = try SalvageSample(
            closing: false,
            "options log 1048576\ntree t int\nput t 1..20 50b\ncheckpoint\n"
                + (0..<60).map { "put t \($0 * 10)..\($0 * 10 + 9) 900b" }.joined(separator: "\n"))
        var options = SalvageSample.options(SimulatedDisk(sample.image))
        options.logSegmentBytes = 1
        let whole = SimulatedDisk(sample.image)
        options.fileSystem = whole
        let report = try Store.salvage(from: SalvageSample.path, to: SalvageSample.target, options: options)
        #expect(report.logCommits == 60)
        var refused = 0
        for call in whole.callLog.indices where whole.callLog[call].needsSpace && call % 3 == 0 {
            let disk = SimulatedDisk(sample.image)
            disk.inject(.staysFull, atCall: call)
            options.fileSystem = disk
            do throws(StorageError) {
                _ = try Store.salvage(from: SalvageSample.path, to: SalvageSample.target, options: options)
            } catch {
                refused += 1
                if case .diskFull = error {} else { Issue.record("call \(call): \(error)") }
                #expect(disk.settledImage().files.keys.allSatisfy { sample.image.files[$0] != nil }, "call \(call)")
            }
        }
        #expect(refused > 10)
    }

    // MARK: Names

    /// A file that another process creates under the target name during the salvage is kept.
    @Test func aNameThatWasTakenMeanwhileIsLeftAlone() throws {
        let sample = try SalvageSample(closing: true, Self.text)
        let disk = SimulatedDisk(sample.damaged(try sample.layout().roots))
        var isTaken = false
        let error = #expect(throws: StorageError.self) {
            try Store.salvage(
                from: SalvageSample.path, to: SalvageSample.target, options: SalvageSample.options(disk),
                progress: { _ in
                    if !isTaken { disk.setContents(of: SalvageSample.target, to: [1, 2, 3]) }
                    isTaken = true
                })
        }
        guard case .invalidArgument(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.hasPrefix("\(SalvageSample.target) exists already"))
        #expect(disk.contents(of: SalvageSample.target) == [1, 2, 3])
        #expect(disk.settledImage().files.count == 2, "and nothing else is left")
    }

    /// A relative name, one from the root, one in a directory: what a failed salvage has written is found and removed.
    @Test(arguments: ["saved.mako", "./saved.mako", "/saved.mako", "d/saved.mako"])
    func nothingIsLeftWhereverItWasToGo(target: String) throws {
        let sample = try SalvageSample(closing: true, Self.text)
        let whole = SimulatedDisk(sample.image)
        _ = try Store.salvage(from: SalvageSample.path, to: target, options: SalvageSample.options(whole))
        #expect(whole.exists(target))
        let writes = whole.callLog.indices.filter { whole.callLog[$0].needsSpace }
        for call in [writes[writes.count / 2], writes[writes.count - 2]] {
            let disk = SimulatedDisk(sample.image)
            disk.inject(.staysFull, atCall: call)
            #expect(throws: StorageError.self) {
                try Store.salvage(from: SalvageSample.path, to: target, options: SalvageSample.options(disk))
            }
            #expect(disk.settledImage().files.keys.sorted() == [SalvageSample.path], "call \(call)")
        }
    }

    // MARK: What it is not for

    @Test func aDirectoryIsNoDatabase() throws {
        let disk = SimulatedDisk(DiskImage(directories: ["d/folder.mako"]))
        #expect(throws: StorageError.notADatabase(path: "d/folder.mako", reason: "it is a directory")) {
            try Store.salvage(from: "d/folder.mako", to: SalvageSample.target, options: SalvageSample.options(disk))
        }
    }

    /// A database of another version is not damaged; nor is one that uses what this version does not know.
    @Test func whatIsOnlyNewerIsNotTakenForDamaged() throws {
        let sample = try SalvageSample(closing: true, Self.text)
        let newer = sample.changing(0..<2) { $0.storeBytes(of: 9, toByteOffset: 79, as: UInt8.self) }
        #expect(throws: StorageError.unsupportedFeatures(path: SalvageSample.path, bits: 9 << 56)) {
            try SalvageSample.salvage(newer.image)
        }
        let other = sample.changing(0..<2) { page in
            page.storeBytes(of: 99, toByteOffset: 48, as: UInt32.self)
        }
        let error = #expect(throws: StorageError.self) { try SalvageSample.salvage(other.image) }
        guard case .unsupportedVersion(_, let found, let supported) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found == 99 && supported < 99)
    }
}
