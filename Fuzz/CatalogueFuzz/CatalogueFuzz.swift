import MakoRecords
import MakoStorage

/// Takes any bytes as what a database knows of itself: a table's record in the catalogue, or, where the first byte is odd, the directory of
/// a checkpoint. They are refused, or what was read from them is written as bytes that read as the same.
public func fuzzCatalogue(_ input: [UInt8]) {
    guard let first = input.first else { return }
    let bytes = Array(input.dropFirst())
    let wrong =
        first & 1 == 1
        ? DirectoryProbe.directory(bytes, regions: Int(first >> 1)) : CatalogueProbe.record(bytes, name: "Table")
    if let wrong { fatalError(wrong) }
}

#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
    public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        fuzzCatalogue(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#endif
