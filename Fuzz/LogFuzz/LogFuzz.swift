import MakoStorage
import MakoTestSupport

/// Takes any bytes as the operations of a logged commit and replays them into a transaction, which is taken back. They are refused, or the
/// transaction shows what a plain reading of `docs/format.md` makes of them.
public func fuzzLog(_ input: [UInt8]) {
    guard let base else { return }
    do {
        let transaction = try base.store.beginWrite()
        // Whatever ends this, the transaction goes with it.
        do { try Probe.operations(input, in: transaction) } catch { return }
        var reader = PlainOperations(base.model, names: [1: "numbers", 2: "words"])
        guard reader.apply(input[...]) else { fatalError("what cannot be read was accepted") }
        if let difference = try ModelStore(reading: transaction.view).difference(from: reader.model) {
            fatalError(difference)
        }
    } catch { fatalError("\(error)") }
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzLog(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif

/// A store with a tree of each kind, of two levels, and what it holds.
private let base: (store: Store, model: ModelStore)? = try? {
    var options = StoreOptions()
    options.cacheBytes = 1 << 20
    options.logSegmentBytes = 64 << 10
    options.background = .manual
    let store = try Store.inMemory(options: options)
    try store.write { tx in
        let numbers = try tx.createTree(named: "numbers", keys: .integer)
        let words = try tx.createTree(named: "words", keys: .bytes)
        for number in 0..<50 {
            try tx.put([UInt8](repeating: 1, count: 100), for: UInt64(number), in: numbers)
            try tx.put([UInt8](repeating: 2, count: 100), for: Array("word \(number)".utf8), in: words)
        }
    }
    return (store, try store.read { try ModelStore(reading: $0) })
}()
