import MakoStorage

/// Takes any bytes as the operations of a logged commit and replays them into a transaction, which is taken back.
public func fuzzLog(_ input: [UInt8]) {
    guard let store else { return }
    do {
        let transaction = try store.beginWrite()
        try Probe.operations(input, in: transaction)
        transaction.rollback()
    } catch {}
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzLog(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif

/// A store with trees of both kinds, numbers 1 and 2 among them.
private let store: Store? = try? {
    let store = try Store.inMemory()
    try store.write { tx in
        let numbers = try tx.createTree(named: "numbers", keys: .integer)
        let words = try tx.createTree(named: "words", keys: .bytes)
        for number in 0..<200 {
            try tx.put([UInt8](repeating: 1, count: 30), for: UInt64(number), in: numbers)
            try tx.put([2], for: Array("word \(number)".utf8), in: words)
        }
    }
    return store
}()
