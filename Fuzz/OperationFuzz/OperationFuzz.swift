import MakoTestSupport

/// Takes any bytes as operations on a store and as faults of the disk below it: the store behaves as a sorted map does,
/// and after a fault, a power cut or a kill it holds what it acknowledged. `OperationDecoder` documents the bytes.
public func fuzzOperations(_ input: [UInt8]) {
    guard input.count > 3, let sample else { return }
    var decoder = OperationDecoder(input)
    let trial = decoder.decode()
    let report = FaultRunner.runOnce(
        trial.script, faults: trial.faults, on: trial.isFilled ? sample.image : DiskImage(),
        from: trial.isFilled ? sample.model : ModelStore(), seed: trial.seed)
    if let failure = report.failures.first { fatalError("\(failure)\n\(trial)") }
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzOperations(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif

/// A store to begin with: a tree of each kind, of two levels.
private let sample: (image: DiskImage, model: ModelStore)? = try? {
    let text = """
        options log 16384
        begin
        tree t0 int
        tree t1 bytes
        put t0 1..30 220b
        put t1 1..30 200b
        put t0 90 5000b
        commit
        """
    let disk = SimulatedDisk()
    let run = ScriptRun(try Script(name: "operations", text), on: disk)
    try run.run()
    guard let model = run.states.last else { throw Disagreement("the run has no states") }
    return (disk.settledImage(), model)
}()
