import MakoStorage
import MakoTestSupport

/// Damages the files of a database as the input says and opens it: the right data, or an error, and nothing else.
///
/// The first byte selects the use of the database, `FileUse`; the others are edits, `FileEdits`. Runs one input; the
/// tests replay the corpus with it.
public func fuzzFile(_ input: [UInt8]) {
    guard let first = input.first, let samples else { return }
    let use = FileUse(rawValue: first)
    let sample = use.contains(.afterCrash) ? samples.killed : samples.closed
    var image = sample.image
    let isForged = FileEdits.apply(input.dropFirst(), to: &image)
    if let wrong = FileTrial(sample: sample, use: use, isForged: isForged).run(image) { fatalError(wrong) }
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzFile(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif

/// The operations on a database.
struct FileUse: OptionSet {
    var rawValue: UInt8

    static let readOnly = FileUse(rawValue: 1)
    static let writing = FileUse(rawValue: 2)
    /// The sample that was not closed, with a log to be replayed.
    static let afterCrash = FileUse(rawValue: 4)
    static let openingAgain = FileUse(rawValue: 8)
}

private let samples = try? FileSamples()

/// The files of a small database, and every state that it went through.
struct FileSample {
    var image: DiskImage
    var states: [ModelStore]
}

private struct FileSamples {
    let closed: FileSample
    let killed: FileSample

    /// Both kinds of trees with an inner node, one of them with counts, values on pages of their own, one packed; then commits that only the log has, over two
    /// segments: with values whose pages it names, a range of byte keys, and a new name of a tree.
    private static let text = """
        options log 16384
        begin
        tree t int
        tree u bytes 30 counted
        put t 20 4500b
        put t 21 9000z
        put t 1..8 600b
        put u 1..14 300b
        commit
        checkpoint
        put t 3 20b
        checkpoint
        put t 30..32 300b
        delete u 5
        put t 33 2000z
        put t 34 9000b
        stream u 15 20000b
        deleterange u 3 6
        rename u w
        """

    init() throws {
        closed = try FileSamples.make(closing: true)
        killed = try FileSamples.make(closing: false)
    }

    private static func make(closing: Bool) throws -> FileSample {
        let disk = SimulatedDisk()
        let run = ScriptRun(try Script(name: "file", text), on: disk)
        try run.run(closing: closing)
        let image = disk.settledImage()
        run.abandon()
        return FileSample(image: image, states: run.states)
    }
}
