# What run.sh proves: `wp FILE FUNCTIONS [PROPERTIES [HEADER]]`, `eva NAME FILE FUNCTIONS BOUND`.

wp lib/base/size.c sv_size_multiply,sv_size_add,sv_size_product,sv_size_min,sv_size_max,sv_size_at_most,sv_partition_begin,sv_size_partition
wp lib/base/text/utf8.c sv_utf8_length,sv_utf8_valid
wp lib/config/json_scan.c sv_json_scan_fail,sv_json_scan_space,sv_json_scan_skip,hexadecimal,read_unit,store_character,read_unicode,unescaped,read_escape,read_character,sv_json_scan_string,is_digit,skip_digits,number_end,read_integer,read_real,read_numeral,sv_json_scan_number,skip_word,sv_json_scan_word
wp lib/config/decimal.c sv_decimal_read
wp lib/io/byte_source.c sv_byte_source_read
wp lib/io/file_kind.c is_space,is_text
wp lib/io/safetensors.c load_u64,check_kind,read_header_length
wp lib/io/safetensors_header.c read_length,read_shape,read_offsets,check_metadata,check_tiling -@terminates assumed_json.h
wp lib/tensor/tensor_desc.c sv_tensor_desc_append,sv_tensor_desc_init,sv_tensor_desc_holds
wp lib/data/decoding/exif.c read_integer,type_bytes,read_value,directory_orientation,begins_with,behind,sv_exif_orientation,sv_xmp_orientation,sv_orientation,digit_value,sv_raw_profile,next_segment,sv_exif_of_jpeg,sv_exif_of_png
wp lib/data/decoding/webp.c fail_webp,little_endian,find_chunk,find_orientation,find_frame -@terminates assumed_webp.h
wp lib/data/decoding/codec.c sv_codec_check_size
wp lib/data/datasets/csv.c fail_at,fail_separator,at_line_end,ends_line,skip_line_end,unquote,read_field,is_utf8,take_field,read_row,count_most
wp lib/data/datasets/list.c skip_digits,is_number
wp lib/data/datasets/cifar.c record_bytes,check_labels,check_file
wp lib/data/shards/tar.c fail,read_number,checksum_is_right,set_name,is_text,take_keyword,read_pax,take_extension,is_extension,read_header,take_name,padded_bytes,is_regular,sv_tar_next
wp lib/data/shards/tar.c read_extension -@assigns
wp lib/data/shards/shard_index.c names_are_valid,samples_are_valid

eva file_kind lib/io/file_kind.c is_space,is_text,sv_file_kind "all: 0..64 bytes" \
    -eva-slevel 0 -eva-slevel-function main:100,sv_file_kind:40
eva dtype lib/tensor/dtype.c sv_dtype_bits,sv_dtype_name "all: 22 types"
eva exif lib/data/decoding/exif.c read_integer,type_bytes,read_float,read_double,quotient,read_value,to_orientation "all: 8 bytes"
