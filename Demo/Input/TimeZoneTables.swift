import Foundation

/// The tables `iso3166.tab` and `zone1970.tab` of the IANA time zone database, which are in the public domain.
struct TimeZoneTables {
    struct ZoneLine {
        var countryCodes: [String]
        var latitude: Double
        var longitude: Double
        var name: String
        var comment: String?
    }

    let countries: [(code: String, name: String)]
    let zones: [ZoneLine]

    init() throws {
        countries = try Self.lines(of: "iso3166.tab").map { line, fields in
            guard fields.count == 2 else { throw DemoError("iso3166.tab, line \(line): two fields are due") }
            return (fields[0], fields[1])
        }
        zones = try Self.lines(of: "zone1970.tab").map { line, fields in
            guard fields.count >= 3, let place = Self.coordinates(fields[1]) else {
                throw DemoError("zone1970.tab, line \(line): codes, coordinates and a name are due")
            }
            return ZoneLine(
                countryCodes: fields[0].split(separator: ",").map(String.init), latitude: place.latitude,
                longitude: place.longitude, name: fields[2], comment: fields.count > 3 ? fields[3] : nil)
        }
    }

    /// The copies in `Demo/Data`: beside the sources, or below the working directory.
    private static func lines(of name: String) throws -> [(line: Int, fields: [String])] {
        let beside = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let places = ["Demo/Data/" + name, beside.appendingPathComponent("Data/" + name).path]
        guard let path = places.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
            throw DemoError("Demo/Data/\(name) is not there; run the demo in the folder of the repository")
        }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.element.isEmpty && !$0.element.hasPrefix("#") }
            .map { ($0.offset + 1, $0.element.split(separator: "\t").map(String.init)) }
    }

    /// `+4230+00131` or `-690022+0393524`: degrees, minutes, perhaps seconds.
    static func coordinates(_ text: String) -> (latitude: Double, longitude: Double)? {
        guard let split = text.dropFirst().firstIndex(where: { $0 == "+" || $0 == "-" }),
            let latitude = degrees(text[..<split], wholeDigits: 2),
            let longitude = degrees(text[split...], wholeDigits: 3)
        else { return nil }
        return (latitude, longitude)
    }

    private static func degrees(_ text: Substring, wholeDigits: Int) -> Double? {
        let digits = text.dropFirst()
        guard digits.allSatisfy(\.isNumber), digits.count == wholeDigits + 2 || digits.count == wholeDigits + 4,
            let whole = Double(digits.prefix(wholeDigits)),
            let minutes = Double(digits.dropFirst(wholeDigits).prefix(2))
        else { return nil }
        let seconds = Double(digits.dropFirst(wholeDigits + 2)) ?? 0
        let value = whole + minutes / 60 + seconds / 3600
        return text.hasPrefix("-") ? -value : value
    }
}
