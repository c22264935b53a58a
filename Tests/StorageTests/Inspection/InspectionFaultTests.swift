import MakoTestSupport
import Testing

@testable import MakoStorage

/// The output of `mako page` and `mako log` for missing files, failing devices, and pages and frames that no program
/// writes.
@Suite struct InspectionFaultTests {
    private static let path = SalvageSample.path

    private static func sample(_ more: String = "") throws -> SalvageSample {
        try SalvageSample(
            closing: false,
            "options log 65536\ntree t int\nput t 1..300 90b\ntree u bytes\nput u 1..200 50b\ncheckpoint\nput t 7 20b\n"
                + more)
    }

    private static func log(_ disk: any FileSystem) throws -> (
        segments: [SegmentDescription], frames: [FrameDescription]
    ) {
        var segments: [SegmentDescription] = []
        var frames: [FrameDescription] = []
        try LogInspection.log(
            of: path, fileSystem: disk, operations: true, segment: { segments.append($0) }, frame: { frames.append($0) }
        )
        return (segments, frames)
    }

    // MARK: The log

    /// The log can be inspected when the data file is missing or damaged.
    @Test func aLogIsShownWithoutItsDataFile() throws {
        let image = try Self.sample().image
        let frames = try Self.log(SimulatedDisk(image)).frames.map(\.commit)
        #expect(!frames.isEmpty)
        let disk = SimulatedDisk(image)
        for content in [nil, [], [UInt8](repeating: 7, count: 5000)] as [[UInt8]?] {
            disk.setContents(of: Self.path, to: content)
            #expect(try Self.log(disk).frames.map(\.commit) == frames)
        }
        let files = MeddledDisk(SimulatedDisk(image))
        files.meddle { (call, path, _) throws(FileError) in
            guard call == .read, path == Self.path else { return }
            throw FileError(operation: "read", path: path, code: 5)
        }
        #expect(try Self.log(files).frames.map(\.commit) == frames)
    }

    /// A segment that the writer has reused meanwhile is skipped; an error of the device is reported.
    @Test func segmentsThatGoMeanwhileArePassedOver() throws {
        let image = try Self.sample().image
        let whole = try Self.log(SimulatedDisk(image))
        let files = MeddledDisk(SimulatedDisk(image))
        files.pretend(["\(FilePath.name(of: Self.path))-wal-99"])
        let seen = try Self.log(files)
        #expect(seen.segments.map(\.path) == whole.segments.map(\.path) && seen.frames.count == whole.frames.count)
        files.meddle { (call, path, _) throws(FileError) in
            guard call == .open, path.contains("-wal-") else { return }
            throw FileError(operation: "open", path: path, code: 5)
        }
        let error = #expect(throws: StorageError.self) { _ = try Self.log(files) }
        if case .io? = error {} else { Issue.record("\(String(describing: error))") }
    }

    /// A frame whose packed payload is none, under a right checksum: it is there, and its operations are not known.
    @Test func aFrameThatDoesNotUnpackIsShownWithoutOperations() throws {
        let sample = try Self.sample("put t 400..450 400z\n")
        var image = sample.image
        let packed = try Self.log(SimulatedDisk(image)).frames.filter(\.isCompressed)
        #expect(packed.count == 1 && packed.allSatisfy { $0.operations != nil })
        try Forger(of: image).changeLog(of: &image) { frame in
            guard frame.count - LogFrame.headerBytes == packed.first?.storedBytes else { return }
            for place in LogFrame.headerBytes..<frame.count { frame[place] = 0xff }
        }
        let frames = try Self.log(SimulatedDisk(image)).frames
        let same = try #require(frames.first { $0.isCompressed })
        #expect(same.isWhole && same.operations == nil && same.commit == packed.first?.commit)
    }

    // MARK: Pages

    /// A record with pages of its own, without a list of them.
    @Test func aMalformedEntryIsShown() throws {
        let sample = try Self.sample("put t 1000 9000b\ncheckpoint\n")
        let place = try #require(try sample.layout().places.first { $0.tree == "t" && $0.key == .integer(1000) })
        let broken = sample.changing([place.pages[0]]) { page in
            for slot in 0..<Page(page).count {
                let record = IntegerNode.record(page, slot)
                guard record.isOverflow else { continue }
                UnsafeMutableRawPointer(mutating: record.bytes).initializeMemory(
                    as: UInt8.self, repeating: 0xff, count: record.count)
            }
        }
        let page = try PageInspection(path: Self.path, fileSystem: SimulatedDisk(broken.image)).page(
            UInt64(place.pages[0]))
        let malformed = page.entries.filter { if case .malformed = $0.content { true } else { false } }
        #expect(malformed.map(\.key) == [.integer(1000)] && page.problem == nil)
    }

    /// The second region of a file, of which the database knows nothing yet.
    @Test func pagesOfLaterRegionsAreNamed() throws {
        let files = MemoryFileSystem()
        let file = try files.open(Self.path, .create)
        let bytes = try #require(try Self.sample().image.files[Self.path]).bytes
        try writeBytes(file, bytes, count: bytes.count, at: 0)
        try file.resize(to: UInt64(SpaceMap.pagesPerRegion + 8) * UInt64(pageBytes))
        let inspection = try PageInspection(path: Self.path, fileSystem: files)
        let first = UInt64(SpaceMap.pagesPerRegion)
        #expect(try inspection.page(first).use == .fixed("bitmap of region 1, place 0"))
        #expect(try inspection.page(first + 2).use == .fixed("bitmap of region 1, place 2"))
        let page = try inspection.page(first + 7)
        #expect(page.isBlank && page.use != .inUse && page.problem == nil)
    }
}
