import MakoCommand

/// Takes any bytes as a file to import: CSV, tab-separated values, JSON or JSON lines, as the first byte says. It is refused, or its rows fit
/// the types that were inferred and can be written and read again.
public func fuzzImport(_ input: [UInt8]) {
    guard let first = input.first else { return }
    if let wrong = ImportProbe.read(Array(input.dropFirst()), format: Int(first)) { fatalError(wrong) }
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzImport(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif
