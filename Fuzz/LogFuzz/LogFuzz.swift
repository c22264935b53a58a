import MakoStorage
import MakoTestSupport

/// Takes any bytes as the operations of a logged commit and replays them into a transaction, which is rolled back. They
/// are refused, or the transaction shows what a plain reading of `docs/format.md` makes of them.
///
/// Operations that name pages of values find three such values; the content of other lists is unknown.
public func fuzzLog(_ input: [UInt8]) {
    guard let base else { return }
    do {
        let transaction = try base.store.beginWrite()
        // Whatever ends this, the transaction goes with it.
        do { try LogProbe.operations(input, naming: Array(base.named.keys), in: transaction) } catch { return }
        var reader = PlainOperations(base.model, names: [1: "numbers", 2: "words"]) { base.named[$0] }
        guard reader.apply(input[...]) else {
            if reader.metUnknownList { return }
            fatalError("what cannot be read was accepted")
        }
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

/// A store with a tree of each kind, of two levels, what it holds, and values by the lists that name their pages.
private let base: (store: Store, model: ModelStore, named: [[UInt8]: [UInt8]])? = try? {
    var options = StoreOptions()
    options.entropy = SeededEntropy(seed: 1)
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
    let values = [
        ValueShape(bytes: 9000).value(seed: 1), ValueShape(bytes: 4056).value(seed: 2),
        ValueShape(bytes: 30_000, isCompressible: true).value(seed: 3),
    ]
    let lists = try LogProbe.namedValues(values, in: store)
    return (
        store, try store.read { try ModelStore(reading: $0) }, Dictionary(uniqueKeysWithValues: zip(lists, values))
    )
}()
