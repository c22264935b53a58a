import Mako

/// A country of ISO 3166, under its two letters.
@Entity final class Country {
    #Index<Country>([\.name])
    @Attribute(.primaryKey) var code: String = ""
    var name: String = ""
    /// The zones whose largest city is in this country.
    @Relationship(inverse: \Zone.country) var zones: ToMany<Zone>
    /// Zones of other countries that this country uses, too.
    @Relationship(inverse: \Overlap.country) var overlaps: ToMany<Overlap>
}

/// A time zone of the IANA database: an area whose clocks have agreed since 1970.
@Entity final class Zone {
    #Index<Zone>([\.latitude])
    @Attribute(.unique) var name: String = ""
    /// The part of the name before the first slash: `Europe`.
    @Attribute(.indexed) var region: String = ""
    /// Degrees north.
    var latitude: Double = 0
    /// Degrees east.
    var longitude: Double = 0
    var comment: String?
    var country: Country?
    @Relationship(inverse: \Overlap.zone) var overlaps: ToMany<Overlap>
}

/// A zone that is also used in another country than its own.
@Entity final class Overlap {
    var zone: Zone?
    var country: Country?
}
