import Foundation
import MakoRecords

/// An image in its file format, such as PNG or JPEG: `var portrait: StoredImage?`.
///
/// With UIKit or AppKit it can be created from a `UIImage` or `NSImage`, and converted to one:
///
/// ```swift
/// ada.portrait = StoredImage(photo)
/// view.image = ada.portrait?.uiImage
/// ```
public struct StoredImage: StorableValue, Hashable, Codable {
    /// The bytes, as the column holds them.
    public var data: Data

    /// Creates an image from the bytes of its file.
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
