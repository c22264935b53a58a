@testable import MakoRecords

/// Hands the catalogue's decoder bytes that no table would ever leave there.
enum CatalogueProbe {
    /// Takes any bytes as a table's record: refused, or it makes a layout whose old rows read as the fill values, and it is written as bytes
    /// that read as the same record.
    ///
    /// - Returns: what is wrong with Mako; nil for nothing.
    static func record(_ bytes: [UInt8], name: String) -> String? {
        let record: TableRecord
        do { record = try StoredCatalogue.record(name, bytes) } catch {
            return "\(error)".isEmpty ? "refused without a word" : nil
        }
        let written = record.encoded()
        do {
            // By their bytes, since not every number is equal to itself.
            let again = try TableRecord(name: name, bytes: written)
            guard again.encoded() == written else { return "what was written reads as another record" }
            guard again.schema.columns.map(\.name) == record.schema.columns.map(\.name),
                again.schema.key == record.schema.key, again.indexes == record.indexes, again.id == record.id,
                again.nextIndexID == record.nextIndexID, again.schema.version == record.schema.version
            else { return "the record changed when it was written" }
        } catch { return "what was written is refused: \(error)" }
        return fills(record)
    }

    private static func fills(_ record: TableRecord) -> String? {
        let live = record.schema.liveColumns
        let layout = RowLayout(record, positions: live)
        do {
            // A row from before the first column.
            let old: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0]
            let values = try old.withUnsafeBytes { row in
                let reader = try RowReader(row, layout)
                return (0..<layout.count).map { reader.value($0) }
            }
            for (position, column) in live.enumerated() {
                guard layout.position(of: column.name) == position else { return "\(column.name) has another place" }
                guard let fill = column.type.coerced(column.fill), !fill.isNull else { continue }
                if values[position] != fill, fill == fill {
                    return "\(column.name) reads as \(values[position]), not as its fill value \(fill)"
                }
            }
        } catch { return "a row without columns is refused: \(error)" }
        return nil
    }
}
