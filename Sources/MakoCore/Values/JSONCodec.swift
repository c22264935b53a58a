import MakoRecords

extension EntityCoding {
    /// The codec of `Codable` values, which are stored as JSON text.
    public enum JSONCodec<Property: Codable & Sendable>: ValueSlotCodec {
        /// The column type: text.
        public static var columnType: ColumnType { .text }
        /// True: the column holds JSON.
        public static var isJSON: Bool { true }

        /// Returns the value as JSON text; NULL if it cannot be encoded.
        public static func stored(_ value: Property) -> StoredValue {
            do throws(ValueFault) { return .text(try JSONText.text(of: value)) } catch { return .null }
        }

        /// Returns the value of a JSON text; nil if it cannot be decoded.
        public static func value(_ stored: StoredValue) -> Property? {
            do throws(ValueFault) { return try decoded(stored) } catch { return nil }
        }

        /// Returns the reason why the value cannot be encoded; nil if it can.
        public static func fault(storing value: Property) -> String? {
            do throws(ValueFault) { _ = try JSONText.text(of: value) } catch { return error.reason }
            return nil
        }

        private static func decoded(_ stored: StoredValue) throws(ValueFault) -> Property {
            guard case .text(let text) = stored else { throw ValueFault("\(stored.brief) is no JSON") }
            return try JSONText.value(Property.self, of: text)
        }

        /// Decodes the property from a row.
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
            do throws(ValueFault) { return try decoded(row.reader.value(position)) } catch {
                throw EntityCoding.unreadable(row, position, error.reason)
            }
        }

        /// Encodes the property to a row.
        public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            writer.writeLater { writer in
                let text: String
                do throws(ValueFault) { text = try JSONText.text(of: value) } catch {
                    throw EntityCoding.unstorable(writer, position, error.reason)
                }
                writer.set(position, text)
            }
        }
    }
}
