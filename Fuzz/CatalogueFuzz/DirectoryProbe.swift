@testable import MakoStorage

/// Hands any bytes to the decoder of a checkpoint's directory.
enum DirectoryProbe {
    /// Takes any bytes as a checkpoint's directory; an accepted one is written again and must read as the same.
    static func directory(_ bytes: [UInt8], regions: Int) -> String? {
        guard let directory = Directory(bytes, regions: regions) else { return nil }
        let written = directory.encoded()
        guard let again = Directory(written, regions: regions) else { return "what was written cannot be read" }
        let names = directory.names.all
        let areSame = again.trees.elementsEqual(directory.trees) {
            $0.id == $1.id && $0.kind == $1.kind && $0.levels == $1.levels && $0.root.raw == $1.root.raw
                && $0.count == $1.count
        }
        guard areSame, again.regions == directory.regions, again.names.all == names else {
            return "what was written reads as something else"
        }
        guard written.count == Directory.encodedBytes(regions: regions, names: directory.names) else {
            return "the directory has another length than was reckoned with"
        }
        return nil
    }
}
