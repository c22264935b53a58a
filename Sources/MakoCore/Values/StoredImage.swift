import Foundation
import MakoRecords

/// An image as its file has it, PNG or JPEG or whatever: `var portrait: StoredImage?`.
///
/// Where there is UIKit or AppKit it is made of a `UIImage` or an `NSImage`, and makes one again:
///
/// ```swift
/// ada.portrait = StoredImage(photo)
/// view.image = ada.portrait?.uiImage
/// ```
public struct StoredImage: StorableValue, Hashable, Codable {
    /// The bytes, as they stand in the column.
    public var data: Data

    public init(data: Data) { self.data = data }

    /// The column type: blob.
    public static var columnType: ColumnType { .blob }
    public static var _$isPlain: Bool { true }
    /// The bytes of the image as the column holds them.
    public var stored: StoredValue { data.stored }
    /// Creates the image of a stored blob; nil for other values.
    public init?(stored: StoredValue) {
        guard let data = Data(stored: stored) else { return nil }
        self.data = data
    }
    /// Reads the image from a field of a row.
    public static func read(_ row: RowReader, _ position: Int) -> StoredImage? {
        Data.read(row, position).map { StoredImage(data: $0) }
    }
    /// Writes the image to a field of a row.
    public func write(to writer: inout RowWriter, _ position: Int) { data.write(to: &writer, position) }
}
