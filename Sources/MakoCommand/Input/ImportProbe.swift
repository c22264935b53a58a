/// The door through which tests hand the readers of files any bytes there are.
package enum ImportProbe {
    /// Reads everything and infers the types of the columns; an error of the input ends it.
    ///
    /// - Parameter format: the remainder by four chooses CSV, tab-separated values, a JSON array or JSON lines.
    package static func read(_ bytes: [UInt8], format: Int) {
        let input = ByteInput(bytes: bytes)
        do throws(InputError) {
            switch format & 3 {
            case 0: try drain(try DelimitedReader(input, dialect: .csv, header: format & 4 == 0))
            case 1: try drain(try DelimitedReader(input, dialect: .tabs, header: format & 4 == 0))
            case 2: try drain(try JSONReader(input, layout: .array))
            default: try drain(try JSONReader(input, layout: .lines))
            }
        } catch {}
    }

    private static func drain<Reader: InputReader>(_ reader: consuming Reader) throws(InputError) {
        var reader = reader
        var types = TypeInference()
        while let row = try reader.next() { types.add(row) }
        _ = types.result(names: reader.columns)
    }
}
